import functools

import pytest

from leasehold import App
from leasehold.define.options import Options
from leasehold.define.task import Definition
from leasehold.errors import DefinitionError, OptionError
from leasehold.payloads.codec import Codec

define = functools.partial(Definition.of, codec_of=Codec.of)


async def welcome(user_id: int) -> None:
    """Greets."""


def thumbnail(path: str) -> str:
    return path


def test_a_definition_is_named_after_its_function():
    definition = define(welcome, options=Options(queue="mail"))
    assert (definition.name, definition.run, definition.doc) == ("welcome", "async", "Greets.")
    assert definition.options.queue == "mail"
    assert definition.codec.encode((7,), {}) == b'{"user_id":7}'


def test_a_sync_function_never_runs_on_the_event_loop():
    assert define(thumbnail).run == "thread"
    with pytest.raises(DefinitionError, match="thumbnail is no async function"):
        define(thumbnail, run="async")


def test_an_async_function_runs_on_the_loop_or_in_a_process():
    assert define(welcome, run="process").run == "process"
    with pytest.raises(DefinitionError, match="is an async function"):
        define(welcome, run="thread")


def test_what_has_no_name_must_be_given_one():
    with pytest.raises(DefinitionError, match=r"write @app\.task"):
        define(lambda: None)
    assert define(lambda: None, name="nothing").name == "nothing"
    assert define(functools.partial(thumbnail, "a"), name="small").run == "thread"


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"name": "x" * 201}, "name has 201 bytes: write 1 to 200"),
        ({"name": "a\nb"}, "control characters"),
        ({"run": "fork"}, "'async', 'thread', 'process'"),
        ({"exclusive": 1}, "takes True or False"),
    ],
)
def test_what_cannot_be_is_refused_by_name(said, problem):
    with pytest.raises(OptionError, match=problem):
        define(thumbnail, **said)


def test_only_functions_are_tasks():
    with pytest.raises(OptionError, match="takes a function, got a str"):
        define("thumbnail")


def test_an_object_whose_call_is_async_is_async():
    class Greeter:
        async def __call__(self, user_id: int) -> None: ...

    definition = define(Greeter(), name="greet")
    assert definition.run == "async"
    assert definition.codec.decode_call(b'{"user_id":1}') == ((), {"user_id": 1})


def test_a_generator_is_no_task():
    def plain():
        yield 1

    async def stream():
        yield 1

    for function in (plain, stream):
        with pytest.raises(DefinitionError, match="is a generator, whose body nobody would run"):
            define(function)


def test_two_functions_of_one_name_are_refused():
    app = App("unused")

    @app.task(name="mail.send")
    def welcome() -> None: ...

    with pytest.raises(DefinitionError, match=r"defined twice, by .*welcome and .*goodbye"):

        @app.task(name="mail.send")
        def goodbye() -> None: ...
