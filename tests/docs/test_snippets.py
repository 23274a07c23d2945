"""What the documentation shows works as it is shown."""

import re
import shlex

import pytest
from pages import ROOT, Page, blocks, pages, shell_lines, texts

from leasehold.cli.main import COMMANDS, app

RUN = ("python", "hidden", "sql", "run")
RUNNING = [page for page in pages() if any(block.kind in RUN for block in blocks(page))]
LINK = re.compile(r"\]\(([^)#]+)(?:#([^)]+))?\)")


@pytest.mark.parametrize("path", RUNNING, ids=lambda path: str(path.relative_to(ROOT)))
async def test_every_block_of_a_page_runs(path, leasehold_dsn, tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", leasehold_dsn)
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    monkeypatch.chdir(tmp_path)
    await Page(path, leasehold_dsn, tmp_path).run()


@pytest.mark.parametrize(("place", "line"), shell_lines())
def test_every_command_line_is_one_that_leasehold_takes(place, line):
    words = shlex.split(line)[1:]
    if words[0].startswith("--"):
        return
    assert words[0] in COMMANDS
    app.parse_args(words, exit_on_error=False, print_error=False)


@pytest.mark.parametrize("path", texts(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_between_pages_leads_somewhere(path):
    broken = []
    for target, anchor in LINK.findall(path.read_text()):
        if "://" in target:
            continue
        found = (path.parent / target).resolve()
        if not found.exists() or (anchor and anchor not in anchors(found.read_text())):
            broken.append(f"{target}#{anchor}" if anchor else target)
    assert broken == []


def anchors(text):
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_file_that_the_architecture_names_is_there():
    inside = ROOT / "src" / "leasehold"
    below = (ROOT, inside, inside / "store", inside / "store" / "sql")
    named = re.findall(
        r"`([\w/]+(?:/|\.py|\.sql|\.toml|\.md))`", (ROOT / "ARCHITECTURE.md").read_text()
    )
    missing = [n for n in named if "NAME" not in n and not any((f / n).exists() for f in below)]
    assert [n for n in missing if "/" in n] == []


def test_the_pages_for_people_stay_short():
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 120
    longest = {
        page.name: len(page.read_text().splitlines())
        for page in (ROOT / "decisions").glob("*.md")
        if len(page.read_text().splitlines()) > 40
    }
    assert longest == {}


def test_every_page_can_be_reached_from_the_readme():
    reached, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        ahead += [
            (page.parent / target).resolve()
            for target, _ in LINK.findall(page.read_text())
            if "://" not in target
        ]
    assert sorted(str(page.relative_to(ROOT)) for page in set(texts()) - reached) == []
