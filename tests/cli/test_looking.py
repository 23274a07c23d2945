"""status, jobs, show, explain, doctor, migrate: what is said, and with which exit code."""

from leasehold.store.connect import connect_sync
from leasehold.testing import Clock


def test_status_fails_when_jobs_wait_and_nobody_serves_them(typed, house):
    house.enqueue(queue="mail")
    answer = typed("status")
    assert answer.code == 1
    assert "no live worker serves queue 'mail'" in answer.out
    house.runner(house.worker(queues=["mail"]))
    assert typed("status").code == 0


def test_status_is_one_document_for_programs(typed, house):
    house.enqueue_many(3, queue="mail")
    house.running(queue="other")
    found = typed("status", "--json").document
    rooms = {queue["name"]: queue["rooms"] for queue in found["queues"]}
    assert rooms["mail"]["ready"]["jobs"] == 3
    assert rooms["other"]["running"]["jobs"] == 1
    assert found["stranded"] == ["mail", "other"] or found["stranded"] == ["mail"]


def test_jobs_are_listed_newest_first_page_by_page(typed, house):
    jobs = [str(job) for job in house.enqueue_many(5)]
    seen, after = [], []
    for _ in range(3):
        found = typed("jobs", "--limit", "2", "--json", *after).document
        seen += [job["id"] for job in found["jobs"]]
        after = ["--after", found["after"]]
    assert sorted(seen, reverse=True) == seen
    assert set(seen) == set(jobs)
    assert found["after"] is None


def test_a_cursor_is_the_id_of_the_last_job_and_no_time_that_never_comes(typed, house):
    jobs = sorted(house.enqueue_many(3))
    found = typed("jobs", "--limit", "1", "--json").document
    assert found["after"] == str(jobs[-1])
    last = typed("jobs", "--after", found["after"], "--json").document
    assert [job["id"] for job in last["jobs"]] == [str(jobs[1]), str(jobs[0])]


def test_a_job_that_may_run_again_has_no_error(typed, house):
    job = house.dead()
    typed("retry", job, "--reason", "the bank is back")
    [line] = typed("jobs", "--json").document["jobs"]
    assert (line["state"], line["error"]) == ("ready", None)
    told = typed("show", job, "--json").document["attempts"][-1]
    assert (told["outcome"], told["error"], told["note"]) == ("reopened", None, "the bank is back")
    assert "the bank is back" in typed("show", job).out


def test_what_was_refused_is_shown_as_asked_and_not_as_done(typed, house):
    job = house.enqueue()
    typed("cancel", job)
    assert typed("discard", job, "--reason", "too late").code == 1
    story = [line.split()[1:] for line in typed("show", job).out.splitlines()]
    assert [words[:2] for words in story if words[:1] in (["cancel"], ["discard"])] == [
        ["cancel", "asked"],
        ["discard", "asked"],
    ]


def test_a_queue_in_a_command_to_be_copied_is_one_word_of_the_shell(typed, house):
    job = house.enqueue(queue="night shift; rm -rf /")
    house.runner(house.worker(queues=["other"]))
    said = "leasehold worker module:app --queue 'night shift; rm -rf /'"
    assert said in typed("status").out
    assert said in typed("explain", job).out
    assert said in typed("doctor").out


def test_a_list_without_jobs_says_so(typed):
    answer = typed("jobs", "--state", "failed")
    assert (answer.code, answer.out) == (0, "no jobs like that\n")


def test_a_state_that_is_none_is_a_wrong_call(typed):
    answer = typed("jobs", "--state", "deaad")
    assert answer.code == 2
    assert 'Choose from: "waiting", "scheduled", "ready"' in answer.err


def test_a_hostile_task_name_cannot_write_on_the_screen(typed, house):
    house.enqueue(task="\x1b[2Jgone[bold]")
    answer = typed("jobs")
    assert "\x1b" not in answer.out
    assert "␛[2Jgone[bold]" in answer.out


def test_show_tells_the_story_with_traces_when_asked(typed, house):
    runner = house.runner()
    job = house.running(runner, payload={"user_id": 7}, name="mine")
    error = {"type": "Boom", "message": "no luck", "trace": "File x, line 1"}
    house.finish(runner, job, outcome="failed", error=error, run_ms=12)
    plain = typed("show", "mine").out
    for said in (
        "enqueued",
        "run 1 claimed",
        "failed",
        "after 12 ms",
        "Boom: no luck",
        "dead letter",
    ):
        assert said in plain
    assert "File x" not in plain
    assert '"user_id"' not in plain
    more = typed("show", "mine", "--trace", "--payload").out
    assert "File x, line 1" in more
    assert '"user_id": 7' in more
    assert typed("show", job.id, "--json").document["state"] == "failed"


def test_a_job_is_found_by_id_name_or_key(typed, house):
    job = house.enqueue(name="mine", key="its-key")
    for said in (job, str(job).upper(), "mine", "its-key"):
        assert typed("explain", said, "--json").document["job"] == str(job)


def test_a_name_of_two_jobs_is_not_guessed(typed, house):
    jobs = house.enqueue_many(2, name="twice")
    answer = typed("cancel", "twice")
    assert answer.code == 1
    assert all(str(job) in answer.err for job in jobs)
    assert house.count("ready") == 2


def test_explain_says_why_and_what_next(typed, house):
    job = house.enqueue()
    answer = typed("explain", job)
    assert answer.code == 0
    assert "no worker is alive" in answer.out
    assert "next: leasehold worker" in answer.out


def test_migrate_says_what_it_did_and_prints_the_same_as_sql(typed, house):
    assert "the tables were up to date" in typed("migrate").out
    house.do("drop schema leasehold cascade")
    assert "would apply 0001_rooms" in typed("migrate", "--dry-run").out
    assert house.rows("select to_regclass('leasehold.job')") == [(None,)]
    house.connection.execute(typed("migrate", "--sql").out.encode())
    assert "the tables were up to date" in typed("migrate").out


def test_a_script_that_is_only_tried_is_a_wrong_call(typed):
    answer = typed("migrate", "--sql", "--dry-run")
    assert (answer.code, answer.out) == (2, "")
    assert "leave out one of --sql and --dry-run" in answer.err


def test_doctor_finds_the_clock_of_a_test_and_mends_it(typed, leasehold_databases, monkeypatch):
    dsn = leasehold_databases.make()
    monkeypatch.setenv("DATABASE_URL", dsn)
    with Clock(dsn):
        answer = typed("doctor", "--json")
    assert answer.code == 1
    ours = {"clock_replaced", "public_rights", "days_missing"}
    assert ours <= {finding["code"] for finding in answer.document["findings"]}
    with connect_sync(dsn) as connection:
        connection.execute("update leasehold.house set ahead = 20")
    left = typed("doctor", "--fix", "--json").document
    assert not ours & {finding["code"] for finding in left["findings"]}
    assert left["repaired"]
    leasehold_databases.drop(dsn)
