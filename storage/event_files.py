"""Event files as frames of typed columns, with what could not be read said beside them.

Grain of every frame: one row per row of the input. Columns: the declared ones, typed, and
- `broken`: the row has no columns at all (a JSON line that does not parse, a CSV row of another width);
- `unreadable`: names of columns whose text is no value of their type (null in the column itself);
- `mistyped`: JSON only, one line with file and field per value of another JSON type than the contract's;
- `raw`: the line as it stands in a text file; null where the columns say it all.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import Column, DataFrame, SparkSession, functions as F, types as T

from pipelines.errors import InputError
from schemas import EventContract

JSON_TYPES = {
    "string": "STRING",
    "timestamp": "STRING",
    "boolean": "BOOLEAN",
    "int": "BIGINT",
    "bigint": "BIGINT",
}
CORRUPT = "_corrupt_record"
CSV_OPTIONS = {
    "header": "true",
    "escape": '"',
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": CORRUPT,
    # Pruned columns are not counted, and a row that is too short would go unnoticed.
    "columnPruning": "false",
}
WIDENED = {"bigint": ("tinyint", "smallint", "int"), "int": ("tinyint", "smallint")}
"""Types of a file that hold in a declared type without loss."""


def read_files(
    spark: SparkSession,
    contract: EventContract,
    format: str,
    paths: Sequence[str],
    rows: DataFrame | None = None,
) -> DataFrame:
    """Open event files (or, for Delta, rows that were read already) in the module's shape.

    Raises:
        InputError: a file's header or schema lacks a column or has another type, or the file is
            broken; every difference is listed.
    """
    if format == "delta":
        assert rows is not None
        return _typed(rows, contract)
    if format == "parquet":
        return _parquet(spark, contract, paths)
    if format == "csv":
        return _csv(spark, contract, paths)
    return _json(spark, contract, paths)


def require_columns(contract: EventContract, found: T.StructType, where: str) -> None:
    """Compare a typed source's columns with the contract.

    Raises:
        InputError: a column is missing or has another type; all of them are listed.
    """
    types = {field.name: field.dataType.simpleString() for field in found.fields}
    _raise_if_any(contract, [f"{where}: {difference}" for difference in _differences(contract, types)])


def contract_problems(contract: EventContract, problems: Sequence[str]) -> str:
    """Name the input and list its problems, one a line; nothing where there are none."""
    if not problems:
        return ""
    return "\n".join(
        [f"{contract.source} breaks its contract; write these anew:", *(f"  {p}" for p in problems)]
    )


def raise_together(problems: Iterable[str]) -> None:
    """Raise the problems of several inputs as one error.

    Raises:
        InputError: any of them says something.
    """
    said = [problem for problem in problems if problem]
    if said:
        raise InputError("\n".join(said))


def _differences(contract: EventContract, found: dict[str, str]) -> list[str]:
    differences = []
    for column in contract.columns:
        actual = found.get(column.name)
        if actual is None:
            differences.append(f"column {column.name} is missing; it must be {column.type}")
        elif actual != column.type and actual not in WIDENED.get(column.type, ()):
            differences.append(f"column {column.name} is {actual}; it must be {column.type}")
    return differences


def _typed(rows: DataFrame, contract: EventContract) -> DataFrame:
    return rows.select(
        *[F.col(column.name).cast(column.type) for column in contract.columns],
        F.lit(False).alias("broken"),
        _nothing().alias("unreadable"),
        _nothing().alias("mistyped"),
        F.lit(None).cast("string").alias("raw"),
    )


def _parquet(spark: SparkSession, contract: EventContract, paths: Sequence[str]) -> DataFrame:
    def problems(path: str) -> list[str]:
        try:
            found = spark.read.parquet(*_literal([path])).schema
        except Exception as error:
            return [f"{path}: not a readable Parquet file ({_first_line(error)})"]
        types = {field.name: field.dataType.simpleString() for field in found.fields}
        return [f"{path}: {difference}" for difference in _differences(contract, types)]

    _raise_if_any(contract, _for_each(problems, paths))
    declared = T.StructType(
        [T.StructField(column.name, column.field.dataType) for column in contract.columns]
    )
    return _typed(spark.read.schema(declared).parquet(*_literal(paths)), contract)


def _csv(spark: SparkSession, contract: EventContract, paths: Sequence[str]) -> DataFrame:
    headers: dict[tuple[str, ...], list[str]] = {}

    def problems(path: str) -> list[str]:
        header = tuple(spark.read.options(**CSV_OPTIONS).csv(_literal([path])).columns)
        missing = [name for name in contract.names if name not in header]
        if not missing:
            headers.setdefault(header, []).append(path)
        return [f"{path}:1: column {name} is missing in the header" for name in missing]

    _raise_if_any(contract, _for_each(problems, paths))
    frames = []
    for header, same in sorted(headers.items()):
        schema = T.StructType([T.StructField(name, T.StringType()) for name in (*header, CORRUPT)])
        rows = spark.read.options(**CSV_OPTIONS).schema(schema).csv(_literal(sorted(same)))
        frames.append(_from_csv(rows, contract, header))
    return _union(frames)


def _from_csv(rows: DataFrame, contract: EventContract, header: Sequence[str]) -> DataFrame:
    broken = F.col(CORRUPT).isNotNull()
    typed = {column.name: _value(F.col(column.name), column.type) for column in contract.columns}
    unreadable = [
        F.when(F.col(name).isNotNull() & value.isNull(), F.lit(name)) for name, value in typed.items()
    ]
    return rows.select(
        *[F.when(~broken, value).alias(name) for name, value in typed.items()],
        broken.alias("broken"),
        F.when(~broken, _present(unreadable)).alias("unreadable"),
        _nothing().alias("mistyped"),
        F.coalesce(CORRUPT, F.to_json(F.struct(*header))).alias("raw"),
    )


def _json(spark: SparkSession, contract: EventContract, paths: Sequence[str]) -> DataFrame:
    # The parser stops after the first value of a line. Inside an array it has to see the end of the line,
    # unless a stray bracket there closes the array: such a line is tried inside an object as well.
    lines = spark.read.text(_literal(paths)).select("value", "_metadata.file_path").where("trim(value) <> ''")
    parsed = lines.select(
        "file_path", "value", F.expr("try_parse_json(concat('[', value, ']'))").alias("row_array")
    )
    rows = parsed.select(
        "file_path",
        F.col("value").alias("raw"),
        F.expr("try_variant_get(row_array, '$[0]', 'variant')").alias("event"),
        F.expr(
            "row_array is null or try_variant_get(row_array, '$[1]', 'variant') is not null "
            "or (contains(value, ']') and try_parse_json(concat('{\"line\":', value, '}')) is null)"
        ).alias("no_single_value"),
    )
    rows = rows.withColumn(
        "broken",
        F.expr("no_single_value or coalesce(not startswith(schema_of_variant(event), 'OBJECT'), true)"),
    )
    values, unreadable, mistyped = [], [], []
    for column in contract.columns:
        name, wanted = column.name, JSON_TYPES[column.type]
        found = F.expr(f"schema_of_variant(try_variant_get(event, '$.{name}', 'variant'))")
        text = F.expr(
            f"try_variant_get(event, '$.{name}', '{'string' if wanted == 'STRING' else column.type}')"
        )
        value = _value(text, column.type)
        right = ~F.col("broken") & (found == wanted)
        values.append(F.when(right, value).alias(name))
        if value is not text:
            unreadable.append(F.when(right & value.isNull(), F.lit(name)))
        wrong = ~F.col("broken") & (found != wanted) & (found != "VOID")
        mistyped.append(
            F.when(
                wrong,
                F.concat(
                    "file_path",
                    F.lit(f": field {name} is a JSON "),
                    F.lower(found),
                    F.lit(f"; it must be {column.type}"),
                ),
            )
        )
    return rows.select(
        *values,
        "broken",
        _present(unreadable).alias("unreadable"),
        _present(mistyped).alias("mistyped"),
        "raw",
    )


def _value(text: Column, type: str) -> Column:
    """The text as a value of the type, null if it is none; a time without a year would be today's."""
    value = text.try_cast(type)
    return F.when(text.rlike(r"^\s*\d{4}"), value) if type == "timestamp" else value


def _literal(paths: Sequence[str]) -> list[str]:
    """Paths as they are: Spark takes brackets, braces, stars and question marks for patterns."""
    return [re.sub(r"([\\\[\]{}*?])", r"\\\1", path) for path in paths]


def _nothing() -> Column:
    return F.lit(None).cast("array<string>")


def _present(values: Sequence[Column]) -> Column:
    some = F.filter(F.array(*values), lambda value: value.isNotNull())
    # Functions over arrays are interpreted and slow: rows without any, nearly all, go without.
    return F.when(F.coalesce(*values).isNull(), F.array().cast("array<string>")).otherwise(some)


def _for_each(problems: Callable[[str], list[str]], paths: Sequence[str]) -> list[str]:
    with ThreadPoolExecutor(8) as pool:
        return [problem for found in pool.map(problems, paths) for problem in found]


def _raise_if_any(contract: EventContract, problems: Sequence[str]) -> None:
    raise_together([contract_problems(contract, problems)])


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionByName(frame)
    return whole


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
