"""How assets are partitioned: one partition per source, named by its source id."""

from dagster import DynamicPartitionsDefinition

SOURCES = DynamicPartitionsDefinition(name="sources")
