-- A LowCardinality column with more than the 8,192 values of its dictionary is slower than plain text: with 20,000 cities in 3.9
-- million rows a count by city took 614 ms where text takes 96, a rare city 477 where text takes 145, and 46 with the index. LZ4,
-- because reading these columns is what such queries do: 5.9 bytes a row instead of 2.8.
-- The indexes are for values that are rare (a campaign nobody used: 14 instead of 104 ms); a frequent one costs what it did.
-- They hold for parts written from now on; older ones get them with ALTER TABLE click_events MATERIALIZE INDEX <name>.
ALTER TABLE click_events${local} ${cluster}
    MODIFY COLUMN city String CODEC(LZ4),
    MODIFY COLUMN referer_url String CODEC(LZ4),
    ADD INDEX IF NOT EXISTS city_bloom city TYPE bloom_filter(0.01) GRANULARITY 32,
    ADD INDEX IF NOT EXISTS referer_bloom referer TYPE bloom_filter(0.01) GRANULARITY 32,
    ADD INDEX IF NOT EXISTS referer_url_bloom referer_url TYPE bloom_filter(0.01) GRANULARITY 32,
    ADD INDEX IF NOT EXISTS utm_campaign_bloom utm_campaign TYPE bloom_filter(0.01) GRANULARITY 32,
    ADD INDEX IF NOT EXISTS utm_term_bloom utm_term TYPE bloom_filter(0.01) GRANULARITY 32,
    ADD INDEX IF NOT EXISTS utm_content_bloom utm_content TYPE bloom_filter(0.01) GRANULARITY 32;

-- On a cluster this is the Distributed table; on one node it is the same once more.
ALTER TABLE click_events ${cluster}
    MODIFY COLUMN city String,
    MODIFY COLUMN referer_url String;
