-- Each part that a query touches costs it half a millisecond and more, and by default the background leaves a large part and the small
-- ones that follow it apart for weeks: a partition of 400 MB that gets 7,000 clicks a day has 7 parts on average. What is older than
-- twelve hours is merged now: 5 parts while events arrive, one when no more do. Tables that are read with FINAL then need no merging
-- in the query. A partition is rewritten at most twice a day, at 20 MB a second of a core; the limit of 32 GiB, which is that of all
-- merges, bounds it.
ALTER TABLE click_events${local} ${cluster}
    MODIFY SETTING min_age_to_force_merge_seconds = 43200, max_bytes_to_merge_at_max_space_in_pool = 34359738368;

ALTER TABLE lead_events${local} ${cluster}
    MODIFY SETTING min_age_to_force_merge_seconds = 43200, max_bytes_to_merge_at_max_space_in_pool = 34359738368;

ALTER TABLE sale_events${local} ${cluster}
    MODIFY SETTING min_age_to_force_merge_seconds = 43200, max_bytes_to_merge_at_max_space_in_pool = 34359738368;

ALTER TABLE link_totals${local} ${cluster}
    MODIFY SETTING min_age_to_force_merge_seconds = 43200, max_bytes_to_merge_at_max_space_in_pool = 34359738368;

ALTER TABLE customer_totals${local} ${cluster}
    MODIFY SETTING min_age_to_force_merge_seconds = 43200, max_bytes_to_merge_at_max_space_in_pool = 34359738368;

ALTER TABLE workspace_slots${local} ${cluster}
    MODIFY SETTING min_age_to_force_merge_seconds = 43200, max_bytes_to_merge_at_max_space_in_pool = 34359738368;

ALTER TABLE link_days${local} ${cluster}
    MODIFY SETTING min_age_to_force_merge_seconds = 43200, max_bytes_to_merge_at_max_space_in_pool = 34359738368;

ALTER TABLE links${local} ${cluster}
    MODIFY SETTING min_age_to_force_merge_seconds = 43200, max_bytes_to_merge_at_max_space_in_pool = 34359738368;

ALTER TABLE customers${local} ${cluster}
    MODIFY SETTING min_age_to_force_merge_seconds = 43200, max_bytes_to_merge_at_max_space_in_pool = 34359738368;

ALTER TABLE names${local} ${cluster}
    MODIFY SETTING min_age_to_force_merge_seconds = 43200, max_bytes_to_merge_at_max_space_in_pool = 34359738368;

ALTER TABLE partners${local} ${cluster}
    MODIFY SETTING min_age_to_force_merge_seconds = 43200, max_bytes_to_merge_at_max_space_in_pool = 34359738368;

ALTER TABLE folders${local} ${cluster}
    MODIFY SETTING min_age_to_force_merge_seconds = 43200, max_bytes_to_merge_at_max_space_in_pool = 34359738368;

ALTER TABLE tags${local} ${cluster}
    MODIFY SETTING min_age_to_force_merge_seconds = 43200, max_bytes_to_merge_at_max_space_in_pool = 34359738368;
