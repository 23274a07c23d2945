"""An order and its receipt: both or neither, and the receipt once, whatever dies on the way.

    python examples/receipts.py

With DATABASE_URL it uses that database, in a terminal without it an embedded Postgres.
"""

import asyncio

import psycopg

from leasehold import App, Fail, Handle, Retry, current_job

app = App()

TABLES = """
create table if not exists orders (
  id bigint generated always as identity primary key, customer text not null, cents int not null);
create table if not exists receipts (
  order_id bigint references orders, number bigint generated always as identity, run text);
"""


async def connect() -> psycopg.AsyncConnection:
    """The application's own connection, to the database in which the jobs are, too."""
    return await psycopg.AsyncConnection.connect(app.address.dsn)


@app.task(queue="receipts", retry=Retry(max_attempts=3, backoff="fixed", base=0.1))
async def send_receipt(order_id: int) -> int | Fail:
    job = current_job()
    async with await connect() as conn:
        found = await conn.execute("select cents from orders where id = %s", (order_id,))
        order = await found.fetchone()
        if order is None:
            return Fail(f"there is no order {order_id}")
        if job.attempt == 1 and order_id % 3 == 0:
            raise ConnectionError("the printer is out of paper")
        # The receipt's number and the end of this run: committed together, or not at all.
        async with job.finishing(conn, result=order[0]):
            await conn.execute(
                "insert into receipts (order_id, run) values (%s, %s)", (order_id, job.fence)
            )
    return None


async def place_order(customer: str, cents: int) -> Handle[int | Fail] | None:
    """One transaction: no order without its job, no job without its order."""
    async with await connect() as conn:
        made = await conn.execute(
            "insert into orders (customer, cents) values (%s, %s) returning id", (customer, cents)
        )
        (order_id,) = await made.fetchone()
        receipt = await send_receipt.using(conn=conn, key=f"receipt-{order_id}").enqueue(order_id)
        if cents > 0:
            return receipt
        await conn.rollback()  # and the job never was
        return None


async def main() -> None:
    async with app, app.worker(poll=0.2):
        async with await connect() as conn:
            await conn.execute(TABLES)
        customers = (("ada", 1990), ("grace", 0), ("alan", 450), ("edsger", 12_000))
        receipts = [await place_order(customer, cents) for customer, cents in customers]
        # A customer who asks for the receipt again gets the job that is there already.
        again = await send_receipt.using(key="receipt-4").enqueue(4)
        print("the receipt of order 4 was asked for already:", again.duplicate)

        for receipt in filter(None, receipts):
            cents = await receipt.result(timeout=20)
            attempts = (await receipt.status()).attempts
            print(f"a receipt over {cents / 100:.2f}, attempts {attempts}")
        missing = await (await send_receipt.enqueue(999)).wait(timeout=20)
        print(f"receipt of order 999: {missing.state}, {missing.error['message']}")

        async with await connect() as conn:
            counted = await conn.execute("select count(*), count(distinct order_id) from receipts")
            print("receipts: {}, of orders: {}".format(*await counted.fetchone()))


if __name__ == "__main__":
    asyncio.run(main())
