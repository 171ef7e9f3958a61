-- GET /analytics?groupBy=countries&linkId=link_00000000001

SELECT country AS key_0, toInt64(count()) AS total_clicks
FROM click_events
WHERE workspace_id = {p0:UInt64}
AND timestamp >= {p1:DateTime64(3, 'UTC')}
AND timestamp <= {p2:DateTime64(3, 'UTC')}
AND link_id IN {p3:Array(UInt64)}
AND NOT (link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND id IN {p4:Array(UInt64)}
    AND deleted = {p5:UInt8}))
GROUP BY key_0
HAVING NOT (country IN {p6:Array(String)})
ORDER BY total_clicks DESC, key_0 ASC
LIMIT {p7:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = ["1"]
-- p4 = ["1"]
-- p5 = "1"
-- p6 = ["","Unknown"]
-- p7 = "5000"
-- set log_comment = analytics clicks countries
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1
