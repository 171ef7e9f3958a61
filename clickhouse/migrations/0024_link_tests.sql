-- When a link's A/B test ends; the epoch for links without one. The job that ends tests looks for it every minute among all
-- links, and must not read their records for it.
ALTER TABLE links${local} ${cluster}
    ADD COLUMN IF NOT EXISTS test_completed_at DateTime64(3, 'UTC')
        MATERIALIZED parseDateTime64BestEffortOrZero(JSONExtractString(data, 'testCompletedAt'), 3, 'UTC');

ALTER TABLE links${local} ${cluster} MATERIALIZE COLUMN test_completed_at;

-- On a cluster this is the Distributed table; on one node nothing is left to add.
ALTER TABLE links ${cluster}
    ADD COLUMN IF NOT EXISTS test_completed_at DateTime64(3, 'UTC') MATERIALIZED toDateTime64(0, 3, 'UTC');
