# SPDX-License-Identifier: Apache-2.0
"""Writes the JSON Schemas of the package, and the tables of keys in docs/policy.md.

``tools/schemas.py`` says how the schemas are made, ``report/policy_page.py`` how the tables are.
"""

import re
import runpy
from pathlib import Path

from truegreen.report.policy_page import keys_table, later_table

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "policy.md"


def main() -> None:
    """Rewrite all of them in place."""
    runpy.run_path(str(ROOT / "tools" / "schemas.py"), run_name="__main__")
    page = PAGE.read_text(encoding="utf-8")
    for name, table in (("keys", keys_table()), ("later", later_table())):
        between = re.compile(rf"(<!-- {name}: [^\n]*-->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        page = between.sub(lambda found, table=table: f"{found[1]}\n{table}\n{found[2]}", page)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
