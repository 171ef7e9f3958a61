-- GET /analytics?start=2026-11-21T14%3A26%3A00Z&end=2026-11-21T14%3A28%3A00Z

SELECT toInt64(count()) AS total_clicks
FROM click_events
WHERE workspace_id = {p0:UInt64}
AND timestamp >= {p1:DateTime64(3, 'UTC')}
AND timestamp <= {p2:DateTime64(3, 'UTC')}
AND NOT (link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p3:UInt8}))
-- p0 = "500"
-- p1 = "2026-11-21 14:26:00.000"
-- p2 = "2026-11-21 14:28:00.000"
-- p3 = "1"
-- set log_comment = analytics clicks count
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom
