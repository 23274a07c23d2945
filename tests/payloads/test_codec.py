import math
import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from json import JSONDecodeError
from typing import Annotated, Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.errors import DefinitionError, PayloadCorrupt, PayloadError, PayloadMismatch
from leasehold.payloads.codec import Codec
from leasehold.payloads.failure import MOST_BYTES, describe_error
from leasehold.payloads.kinds import Custom

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
NAIVE = datetime(2030, 1, 1)  # noqa: DTZ001


class Colour(Enum):
    RED = "red"


@dataclass
class Address:
    street: str
    since: datetime | None = None
    more: dict[str, Any] | None = None


class Point(msgspec.Struct):
    x: float


class Guest(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    ref: uuid.UUID
    nick: str = pydantic.Field(default="", alias="nickName")


class Money:
    def __init__(self, cents):
        self.cents = int(cents)

    def __eq__(self, other):
        return self.cents == other.cents

    __hash__ = None


MONEY = Custom(Money, lambda money: money.cents, Money)


def welcome(name: str, times: int = 1, address: Address | None = None, anything=None): ...


WELCOME = Codec.of(welcome)


def typed(annotation, **settings):
    """The codec of a task with one parameter `x` of the type."""

    def task(x): ...

    task.__annotations__ = {"x": annotation}
    return Codec.of(task, **settings)


def there_and_back(codec, *args, **kwargs):
    return codec.decode_call(codec.encode(args, kwargs))


def refused(*args, codec=WELCOME, **kwargs):
    with pytest.raises(PayloadError) as caught:
        codec.encode(args, kwargs)
    assert "geheim" not in str(caught.value)
    return str(caught.value)


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_arguments_are_written_by_name_and_defaults_stay_with_the_function():
    assert WELCOME.encode(("Ada",), {"times": 2}) == b'{"name":"Ada","times":2}'
    assert WELCOME.decode_call(b'{"name": "Ada"}') == ((), {"name": "Ada"})


@pytest.mark.parametrize("raw", [bytearray(b'{"name":"A"}'), '{"name":"A"}'])
def test_a_payload_may_come_as_bytes_or_text(raw):
    assert WELCOME.decode_call(raw) == WELCOME.decode_call(memoryview(b'{"name":"A"}'))


def test_a_function_without_parameters_has_an_empty_object():
    def tick(): ...

    codec = Codec.of(tick)
    assert codec.encode((), {}) == b"{}"
    assert codec.decode_call(b"{}") == codec.decode_call(b" { } ") == ((), {})
    with pytest.raises(PayloadMismatch, match="unknown field `x`"):
        codec.decode_call(b'{"x":1}')


def test_positional_only_parameters_come_back_by_position():
    def scale(factor: int, shift: int = 3, /, *, tag: str = ""): ...

    codec = Codec.of(scale)
    assert there_and_back(codec, 2) == ((2, 3), {})
    assert there_and_back(codec, 2, 4, tag="a") == ((2, 4), {"tag": "a"})


def test_other_arguments_by_name_are_taken_where_the_function_takes_them():
    def note(kind: str, **more: int): ...

    codec = Codec.of(note)
    assert there_and_back(codec, "a", n=1) == ((), {"kind": "a", "n": 1})
    assert refused("a", n="geheim", codec=codec) == "note.n expected `int`, got `str`"
    with pytest.raises(PayloadMismatch, match=r"note\.n expected `int`, got `str`"):
        codec.decode_call(b'{"kind":"a","n":"b"}')


def test_others_without_a_type_are_plain_json():
    def note(**more): ...

    assert "note.at is a datetime" in refused(at=NOON, codec=Codec.of(note))


def test_arguments_without_a_name_are_refused_at_the_definition():
    def total(*numbers: int): ...

    with pytest.raises(DefinitionError, match=r"takes \*numbers, .*: take a list"):
        Codec.of(total)


def test_names_that_python_gives_a_meaning_are_names_as_any_other():
    def odd(self, cls, args, kwargs, _hidden, type): ...  # noqa: A002

    values = dict.fromkeys(("self", "cls", "args", "kwargs", "_hidden", "type"), 1)
    assert there_and_back(Codec.of(odd), **values) == ((), values)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.just("k") | st.just("l"), inner),
    max_leaves=20,
)
TYPED = st.one_of(
    st.tuples(st.just(int), st.integers(-(2**200), 2**200)),
    st.tuples(st.just(bytes), st.binary()),
    st.tuples(st.just(uuid.UUID), st.uuids()),
    st.tuples(st.just(Decimal), st.decimals(allow_nan=False)),
    st.tuples(st.just(datetime), st.datetimes(timezones=st.just(UTC))),
    st.tuples(st.just(Colour | None), st.sampled_from([Colour.RED, None])),
    st.tuples(st.just(dict[int, set[int]]), st.dictionaries(st.integers(), st.sets(st.integers()))),
    st.tuples(st.just(Point), st.builds(Point, st.floats(allow_nan=False, allow_infinity=False))),
    st.tuples(st.just(list[Address]), st.lists(st.builds(Address, st.just("a"), st.just(NOON)))),
    st.tuples(st.just(Guest), st.builds(Guest, ref=st.uuids(), nickName=st.just("b"))),
)


@given(PLAIN)
def test_plain_json_comes_back_as_it_went_where_nothing_is_annotated(value):
    assert there_and_back(typed(Any), value) == ((), {"x": value})


@given(TYPED)
def test_a_value_comes_back_as_its_annotation_says(pair):
    annotation, value = pair
    assert there_and_back(typed(annotation), value) == ((), {"x": value})


def test_a_registered_type_comes_back_by_its_codec():
    codec = typed(Money, customs=(MONEY,))
    assert there_and_back(codec, Money(7)) == ((), {"x": Money(7)})


def test_a_type_without_a_codec_is_refused_at_the_definition():
    with pytest.raises(DefinitionError, match=r"task takes x: Money, .* Custom\(Money, "):
        typed(Money)


def test_an_annotation_that_is_not_there_at_run_time_is_refused_by_name():
    with pytest.raises(DefinitionError, match="'Gone' is not there at run time"):
        typed("Gone")


def test_types_that_json_cannot_tell_apart_are_refused_at_the_definition():
    def others(**more: str | uuid.UUID): ...

    with pytest.raises(DefinitionError, match="takes x with an annotation that JSON"):
        typed(str | uuid.UUID)
    with pytest.raises(DefinitionError, match="JSON cannot be read by"):
        Codec.of(others)


def test_what_has_no_signature_is_refused_at_the_definition():
    with pytest.raises(DefinitionError, match="max has no signature that can be read"):
        Codec.of(max)


def test_object_is_as_good_as_no_annotation():
    assert there_and_back(typed(object), [1]) == ((), {"x": [1]})


def test_plain_json_of_any_form_passes_where_nothing_is_annotated():
    kinds = [type("Sub", (base,), {}) for base in (str, int, float)]
    values = [kind(1) for kind in kinds] + [{"b": [2, {"c": None}]}, (1, 2)]
    _, kwargs = there_and_back(WELCOME, "a", anything=values)
    assert kwargs["anything"] == ["1", 1, 1.0, {"b": [2, {"c": None}]}, [1, 2]]
    assert there_and_back(WELCOME, kinds[0]("Ada")) == ((), {"name": "Ada"})
    assert "beyond 64 bits" in refused("a", anything=[1, {"b": 2**64}])
    assert "is a set" in refused("a", anything=[1, {"b": [{1}]}])
    assert "dict[int" in refused("a", anything=[{"b": {1: 2}}])


def test_what_holds_other_things_is_looked_into():
    codec = typed(tuple[set[str], Guest])
    assert "task.x[0][…] contains NUL at 0" in refused(({"\0"}, guest()), codec=codec)
    assert "task.x[1].nick contains NUL at 1" in refused((set(), guest("a\0")), codec=codec)
    assert there_and_back(codec, ({"a"}, guest())) == ((), {"x": ({"a"}, guest())})


def guest(nick=""):
    return Guest(ref=uuid.UUID(int=1), nickName=nick)


def test_a_registered_type_may_stand_among_others():
    codec = typed(list[Money | None], customs=(MONEY,))
    assert there_and_back(codec, [Money(1), None]) == ((), {"x": [Money(1), None]})
    assert "is no Money: ValueError" in refused(["geheim"], codec=codec)


def test_a_result_whose_annotation_msgspec_cannot_read_comes_back_plain():
    def task() -> str | uuid.UUID: ...

    assert Codec.of(task).decode_result(b'"a"') == "a"


def test_a_results_annotation_may_be_anything():
    def task() -> "Gone": ...  # noqa: F821

    assert Codec.of(task).decode_result(b"[1]") == [1]


def test_a_missing_argument_is_named_with_its_type():
    assert refused() == "welcome.name is missing: it takes str"


def test_an_extra_argument_is_named_with_the_signature():
    assert refused("a", tims=2).startswith("welcome.tims is not an argument, did you mean 'times'?")
    assert "at most 4 arguments by position, got 5" in refused(1, 2, 3, 4, 5)
    assert refused("a", name="b").startswith("welcome.name is given twice")


@pytest.mark.parametrize(
    ("annotation", "value", "problem"),
    [
        (int, "geheim", "task.x takes int, got str"),
        (int, True, "task.x takes int, got bool"),
        (str, uuid.UUID(int=1), "task.x takes str, got UUID"),
        (uuid.UUID, "geheim", "task.x takes UUID, got str"),
        (bytes, "geheim", "task.x takes bytes, got str"),
        (list[int], [1, "geheim"], "task.x[1] expected `int`, got `str`"),
        (dict[int, int], {"geheim": 1}, "has a key that is none: expected `int`, got `str`"),
        (Colour, "geheim", "task.x takes Colour: invalid enum value"),
        (Address, Address(7), "task.x.street expected `str`, got `int`"),
        (Guest, {"ref": "geheim"}, "is no Guest: ref uuid_parsing"),
        (Annotated[int, msgspec.Meta(ge=1)], 0, "expected `int` >= 1"),
    ],
)
def test_a_wrong_argument_is_told_by_type_and_never_by_value(annotation, value, problem):
    assert problem in refused(value, codec=typed(annotation))


@pytest.mark.parametrize(
    ("value", "where"),
    [("a\0", "1"), (["a", "bc\0"], "[1] contains NUL at 2"), ({"a\0": 1}, "key")],
)
def test_nul_is_refused_with_its_place(value, where):
    message = refused("a", anything=value)
    assert message.startswith("welcome.anything")
    assert where in message


def test_the_text_backslash_u0000_is_no_nul():
    assert there_and_back(WELCOME, "\\u0000") == ((), {"name": "\\u0000"})
    assert refused("abc\0") == "welcome.name contains NUL at 3; use bytes or strip it"


def test_a_lone_surrogate_is_refused_by_its_code_point():
    assert "welcome.name contains the lone surrogate U+D83D at 1" in refused("a\ud83d")
    assert "welcome.anything.k[0] contains the lone surrogate" in refused(
        "a", anything={"k": ["\ud800"]}
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_are_refused(value):
    assert "is NaN or infinite" in refused(value, codec=typed(float))
    assert "[0].a is NaN or infinite" in refused("a", anything=[{"a": value}])
    assert "x.x is NaN or infinite" in refused(Point(value), codec=typed(Point))


def test_nesting_of_100_passes_and_deeper_is_refused_with_the_path():
    assert there_and_back(WELCOME, "a", anything=nested(100))
    assert "[0][0]" in refused("a", anything=nested(101))
    assert "is nested deeper than 100" in refused("a", anything=nested(10_000))
    assert "is nested deeper than 100" in refused(nested(101), codec=typed(list))


def test_what_holds_itself_is_nested_too_deep():
    ring = []
    ring.append(ring)
    assert "is nested deeper than 100" in refused("a", anything=ring)


def test_a_payload_over_the_limit_is_told_with_sizes_and_setting():
    message = refused("a" * 2_000_000)
    assert "2,000,011 bytes, the limit is 1,048,576" in message
    assert message.endswith("raise the setting payload_limit")
    assert there_and_back(typed(str, payload_limit=3_000_000), "a" * 2_000_000)


def test_a_datetime_without_a_zone_is_refused_wherever_it_is():
    said = "has no time zone; use datetime.now(UTC)"
    assert refused(NAIVE, codec=typed(datetime)) == f"task.x {said}"
    assert refused("a", address=Address("b", NAIVE)) == f"welcome.address.since {said}"
    assert refused([NAIVE], codec=typed(list[datetime])) == f"task.x[0] {said}"


@pytest.mark.parametrize("value", [NOON, {1}, b"a", Decimal(1), Address("a"), {1: 2}, Money(1)])
def test_what_would_come_back_as_something_else_must_be_annotated(value):
    assert "annotate" in refused("a", anything=value) or "dict[int" in refused("a", anything=value)


@pytest.mark.parametrize("value", [2**64, {1: 2}, [{"a": [NOON]}], [[{1}]], {"a": 2**63}])
def test_what_is_not_plain_is_found_at_any_depth(value):
    assert refused(value, codec=typed(Any)).startswith("task.x")


def test_times_out_of_reach_of_a_zone_are_no_faults():
    early = datetime(1, 1, 1, tzinfo=UTC)
    assert there_and_back(typed(datetime), early) == ((), {"x": early})


def test_an_object_without_a_codec_is_refused_and_told_how_to_get_one():
    message = refused("a", address=Address("b", more={"c": object()}))
    assert message.startswith("welcome.address.more.c is of type object, which has no codec")
    assert "register one: Custom(object, encode, decode)" in message


def test_a_codec_that_raises_is_named_by_its_type():
    broken = Custom(Money, lambda money: money.nothing, Money)
    message = refused(Money(1), codec=typed(Money, customs=(broken,)))
    assert message == "task has a Money whose codec raised AttributeError"


def test_an_int_beyond_64_bits_comes_back_where_it_is_annotated_and_is_refused_elsewhere():
    assert there_and_back(typed(int), 2**70) == ((), {"x": 2**70})
    assert "annotate the parameter with int" in refused("a", anything=2**63)
    assert "more than 4096 bits" in refused(10**5_000, codec=typed(int))


def test_a_decimal_of_any_exponent_comes_back_as_it_is_and_is_not_unfolded():
    assert there_and_back(typed(Decimal), Decimal("1e999999")) == ((), {"x": Decimal("1e999999")})


def test_a_payload_of_another_signature_shows_both():
    with pytest.raises(PayloadMismatch) as caught:
        WELCOME.decode_call(b'{"user": 7, "lang": "geheim"}')
    message = str(caught.value)
    assert "the payload brings (user: int, lang: str)" in message
    assert "the code here is welcome(name: str, times: int = …" in message
    assert "geheim" not in message


@pytest.mark.parametrize("raw", [b"{", b'{"name":"\xff"}', b"[1]", b"[" * 9_999, b""])
def test_bytes_that_are_no_payload_are_corrupt(raw):
    with pytest.raises(PayloadCorrupt):
        WELCOME.decode_call(raw)


def test_a_result_comes_back_by_the_annotation_and_plain_where_it_does_not_follow_it():
    def task() -> Address: ...

    codec = Codec.of(task)
    raw, problem = codec.encode_result(Address("a", NOON))
    assert (codec.decode_result(raw), problem) == (Address("a", NOON), None)
    assert codec.decode_result(b'"a"') == "a"


def test_no_result_takes_no_bytes():
    assert WELCOME.encode_result(None) == (None, None)
    assert WELCOME.decode_result(None) is None


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (object(), "result of type object cannot be encoded: TypeError"),
        ({"a": "b\0"}, "result.a contains NUL at 1; use bytes or strip it"),
        (math.nan, "result is NaN or infinite, which JSON has not: use None, or a text"),
        ("\ud800", "result of type str cannot be encoded: UnicodeEncodeError"),
        (nested(5_000), "result of type list cannot be encoded: RecursionError"),
        ("a" * 2_000_000, "the limit is 1,048,576: raise the setting payload_limit"),
    ],
    ids=["object", "nul", "nan", "surrogate", "deep", "big"],
)
def test_a_result_that_cannot_be_stored_says_why_and_raises_nothing(result, problem):
    raw, said = WELCOME.encode_result(result)
    assert raw is None
    assert problem in said


def caught(error):
    with pytest.raises(type(error)) as raised:
        raise error
    return describe_error(raised.value)


def test_an_error_is_stored_by_type_message_and_trace_without_locals():
    secret = "geheim"  # noqa: F841
    described = caught(PayloadError("a.b", "is wrong"))
    assert described["type"] == "PayloadError"
    assert described["message"] == "a.b is wrong"
    assert "raise error" in described["trace"]
    assert "geheim" not in described["trace"]


def test_an_error_of_another_module_is_stored_with_its_module():
    assert caught(JSONDecodeError("no", "", 0))["type"] == "json.decoder.JSONDecodeError"


def test_an_error_whose_text_raises_is_stored_all_the_same():
    class Broken(Exception):
        def __str__(self):
            raise KeyError

    assert caught(Broken())["message"] == "<its text cannot be shown: KeyError>"


def test_an_error_of_50_mb_is_cut_quickly_and_cleaned():
    error = ValueError("a\0\ud800é" * 12_500_000)
    begun = time.process_time()
    described = caught(error)
    assert time.process_time() - begun < 1
    assert all(len(text.encode()) <= MOST_BYTES for text in described.values())
    assert described["message"].startswith("a␀?é")
    assert described["message"].endswith("(50,000,000 characters in all)")
    assert "\0" not in described["trace"]


def test_the_trace_tells_the_causes_and_the_members_of_a_group():
    group = ExceptionGroup("many", [OSError("second")])
    group.__cause__ = KeyError("first")
    group.add_note("a note")
    trace = caught(group)["trace"]
    assert trace.index("first") < trace.index("many") < trace.index("second")
    assert "a note" in trace


def test_a_deep_recursion_leaves_a_short_trace():
    def down():
        down()

    with pytest.raises(RecursionError) as raised:
        down()
    assert len(describe_error(raised.value)["trace"]) < MOST_BYTES
