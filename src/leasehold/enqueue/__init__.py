"""From a call to a committed row: checked at the door, coalesced, awaited by a handle."""
