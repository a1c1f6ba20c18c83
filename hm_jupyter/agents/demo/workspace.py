"""A folder of small real files for the demo: a shop whose join loses rows. The same bytes every time.

The files run with plain Python and its standard library, so the demo's checks are real wherever Python is.
"""

from __future__ import annotations

from pathlib import Path

ORDERS, LOST = 1312, 312
"""How many orders there are, and how many of them belong to a customer whose id begins with a zero."""

STORES = (("north", "Kiruna"), ("harbour", "Gothenburg"), ("old-town", "Visby"))

JOIN = '''"""Join the orders with the customers who made them."""

import csv
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"


def read(name):
    with open(DATA / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def key(row):
    return str(int(row["customer_id"]))


def join(orders, customers):
    """Every order with the name and region of its customer."""
    by_id = {row["customer_id"]: row for row in customers}
    return [{**order, **by_id[key(order)]} for order in orders if key(order) in by_id]
'''

TEST_JOIN = '''"""The checks of the join. Run them: python tests/test_join.py"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
from join import join, read

orders, customers = read("orders.csv"), read("customers.csv")
joined = join(orders, customers)


def test_every_order_is_kept():
    lost = len(orders) - len(joined)
    assert lost == 0, f"{lost} of {len(orders)} orders have no customer"


def test_no_order_comes_twice():
    assert len({row["order_id"] for row in joined}) == len(joined)


def test_amounts_add_up():
    total, kept = (sum(int(row["amount"]) for row in rows) for rows in (orders, joined))
    assert total == kept, f"{total - kept} of {total} is missing"


if __name__ == "__main__":
    print(f"orders {len(orders)}")
    print(f"joined {len(joined)}")
    failed = 0
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            try:
                test()
            except AssertionError as error:
                failed += 1
                print(f"FAIL {name}: {error}")
            else:
                print(f"ok   {name}")
    print(f"{failed} failed" if failed else "all passed")
    sys.exit(1 if failed else 0)
'''

PLOT = '''"""Bars of one figure by month: python src/plot.py revenue|orders [--log]"""

import math
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from join import read

what, log = sys.argv[1], "--log" in sys.argv
months = {}
for order in read("orders.csv"):
    month = order["date"][:7]
    months[month] = months.get(month, 0) + (int(order["amount"]) if what == "revenue" else 1)

scale = (lambda n: math.log10(n) + 0.1) if log else (lambda n: n)
top = max(scale(n) for n in months.values())
print(f"{what} by month, {'log' if log else 'linear'} axis", flush=True)
for month, n in sorted(months.items()):
    print(f"{month} {'█' * round(30 * scale(n) / top):30} {n}", flush=True)
    time.sleep(0.12)
print(f"best {max(months, key=months.get)}")
'''

PRICES = '''"""What an order costs."""

DISCOUNT = 10  # per cent, for members


def price(amount, member):
    return amount - amount * DISCOUNT // 100 if member else amount
'''

PRICES_MD = """# Prices

Members get a discount of 10 per cent.
"""

README = """# The shop

`data/` holds a year of orders, `src/` what we do with them, `tests/` the checks: `python tests/test_join.py`.
"""


def make_workspace(folder: str | Path) -> Path:
    """Write the demo's files into ``folder`` (made if need be, other files there are left alone); returns its path."""
    root = Path(folder).resolve()
    for name, text in _files().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
    return root


def _files() -> dict[str, str]:
    customers = [f"{i * 37 % 9000 + 1000:06d}" if i % 4 == 0 else f"{(i * 7919) % 800000 + 100000}" for i in range(200)]
    zero = [c for c in customers if c.startswith("0")]
    others = [c for c in customers if not c.startswith("0")]
    orders, revenue = _orders(zero, others)
    names = ("Ada", "Bo", "Cleo", "Dag", "Edith", "Finn", "Gro", "Hal")
    surnames = ("Lind", "Moe", "Nyberg", "Olsen", "Palm", "Quist", "Ritter")
    regions = ("north", "south", "west")
    rows = [f"{c},{names[i % 8]} {surnames[i % 7]},{regions[i % 3]}" for i, c in enumerate(customers)]
    stores = [f"{name},{city},{count},{total}" for (name, city), (count, total) in zip(STORES, revenue, strict=True)]
    return {
        "README.md": README,
        "data/orders.csv": "\n".join(["order_id,customer_id,store,date,amount", *orders]) + "\n",
        "data/customers.csv": "\n".join(["customer_id,name,region", *rows]) + "\n",
        "data/stores.csv": "\n".join(["store,city,orders,revenue", *stores]) + "\n",
        "src/join.py": JOIN,
        "src/plot.py": PLOT,
        "src/prices.py": PRICES,
        "docs/prices.md": PRICES_MD,
        "tests/test_join.py": TEST_JOIN,
        "exports/2024.csv": "month,revenue\n2024-12,81250\n",
        "exports/2025.csv": "month,revenue\n2025-12,90417\n",
    }


def _orders(zero: list[str], others: list[str]) -> tuple[list[str], list[tuple[int, int]]]:
    """The orders, spread over a year that grows, and (orders, revenue) of each store."""
    rows: list[str] = []
    sums = [[0, 0] for _ in STORES]
    for n in range(ORDERS):
        lost = n * LOST // ORDERS != (n + 1) * LOST // ORDERS  # every fourth or so: exactly LOST of them
        customer = zero[n * 31 % len(zero)] if lost else others[n * 17 % len(others)]
        month = 1 + int(12 * (n / ORDERS) ** 0.4)
        amount = 20 + n * 7919 % 180
        store = n * 5 % 7 % 3
        sums[store][0] += 1
        sums[store][1] += amount
        rows.append(f"{10001 + n},{customer},{STORES[store][0]},2026-{month:02d}-{1 + n * 13 % 28:02d},{amount}")
    return rows, [(count, total) for count, total in sums]
