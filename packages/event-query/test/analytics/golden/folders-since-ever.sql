-- GET /analytics?interval=all&groupBy=top_folders

SELECT owner.owner_key AS key_0, sum(part.total_clicks) AS total_clicks
FROM (
  SELECT owner.owner_key AS key_0, sum(part.total_clicks) AS total_clicks
  FROM (
    SELECT link_id AS key_0, toInt64(sum(clicks)) AS total_clicks
    FROM link_totals
    WHERE workspace_id = {p0:UInt64}
    AND clicks != {p1:UInt64}
    GROUP BY key_0
    UNION ALL
    SELECT link_id AS key_0, -toInt64(count()) AS total_clicks
    FROM click_events
    WHERE workspace_id = {p0:UInt64}
    AND timestamp >= {p2:DateTime64(3, 'UTC')}
    AND timestamp <= {p3:DateTime64(3, 'UTC')}
    GROUP BY key_0) AS part
  INNER JOIN (
    SELECT id AS owner_id, folder_id AS owner_key
    FROM links FINAL
    WHERE workspace_id = {p0:UInt64}) AS owner ON owner.owner_id = part.key_0
  GROUP BY key_0) AS part
INNER JOIN (
  SELECT id AS owner_id, id AS owner_key
  FROM folders FINAL
  WHERE workspace_id = {p0:UInt64}) AS owner ON owner.owner_id = part.key_0
GROUP BY key_0
HAVING (total_clicks != 0)
ORDER BY total_clicks DESC, key_0 ASC
LIMIT {p4:UInt64}
-- p0 = "500"
-- p1 = "0"
-- p2 = "2026-11-22 00:00:00.000"
-- p3 = "2109-05-15 07:35:11.103"
-- p4 = "5000"
-- set log_comment = analytics clicks top_folders
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom
