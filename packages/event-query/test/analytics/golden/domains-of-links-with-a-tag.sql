-- GET /analytics?groupBy=top_domains&tagId=tag_00000000002

SELECT sum(clicks)
FROM workspace_slots
WHERE workspace_id = {p0:UInt64}
AND slot <= {p1:DateTime('UTC')}
-- p0 = "500"
-- p1 = "2106-02-07 06:28:15"
-- set log_comment = events clicks count

SELECT owner.owner_key AS key_0, sum(part.total_clicks) AS total_clicks
FROM (
  SELECT link_id AS key_0, toInt64(count()) AS total_clicks
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links FINAL
    WHERE workspace_id = {p0:UInt64}
    AND hasAny(tag_ids, {p3:Array(UInt64)}))
  GROUP BY key_0) AS part
INNER JOIN (
  SELECT id AS owner_id, domain AS owner_key
  FROM links FINAL
  WHERE workspace_id = {p0:UInt64}) AS owner ON owner.owner_id = part.key_0
GROUP BY key_0
ORDER BY total_clicks DESC, key_0 ASC
LIMIT {p4:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = ["2"]
-- p4 = "5000"
-- set log_comment = analytics clicks top_domains
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1
-- set use_index_for_in_with_subqueries_max_values = 2000
-- set ignore_data_skipping_indices = link_id_bloom
