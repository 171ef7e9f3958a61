-- GET /analytics?interval=all&groupBy=top_links&country=FR

SELECT link_id AS key_0, toInt64(count()) AS total_clicks
FROM click_events
WHERE workspace_id = {p0:UInt64}
AND timestamp <= {p1:DateTime64(3, 'UTC')}
AND country IN {p2:Array(String)}
AND NOT (link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p3:UInt8}))
GROUP BY key_0
ORDER BY total_clicks DESC, key_0 ASC
LIMIT {p4:UInt64}
-- p0 = "500"
-- p1 = "2026-11-21 23:59:59.999"
-- p2 = ["FR"]
-- p3 = "1"
-- p4 = "5000"
-- set log_comment = analytics clicks top_links
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom
