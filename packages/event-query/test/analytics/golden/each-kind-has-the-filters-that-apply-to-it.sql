-- GET /analytics?event=composite&groupBy=countries&eventName=Demo+booked&saleType=new&trigger=link%2Cqr

SELECT part.key_0 AS key_0, sum(part.total_clicks) AS total_clicks, sum(part.total_leads) AS total_leads, sum(part.total_sales) AS total_sales, sum(part.total_sale_amount) AS total_sale_amount
FROM (
  SELECT country AS key_0, toInt64(count()) AS total_clicks, toInt64(0) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  AND trigger IN {p3:Array(String)}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p4:UInt8}))
  GROUP BY key_0
  HAVING NOT (country IN {p5:Array(String)})
  UNION ALL
  SELECT country AS key_0, toInt64(0) AS total_clicks, toInt64(count()) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p6:DateTime64(3, 'UTC')}
  AND timestamp <= {p7:DateTime64(3, 'UTC')}
  AND trigger IN {p8:Array(String)}
  AND event_name IN {p9:Array(String)}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p10:UInt8}))
  GROUP BY key_0
  HAVING NOT (country IN {p5:Array(String)})
  UNION ALL
  SELECT country AS key_0, toInt64(0) AS total_clicks, toInt64(0) AS total_leads, toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p11:DateTime64(3, 'UTC')}
  AND timestamp <= {p12:DateTime64(3, 'UTC')}
  AND trigger IN {p13:Array(String)}
  AND event_name IN {p14:Array(String)}
  AND sale_type IN {p15:Array(String)}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p16:UInt8}))
  GROUP BY key_0
  HAVING NOT (country IN {p5:Array(String)})) AS part
GROUP BY key_0
ORDER BY total_clicks DESC, key_0 ASC
LIMIT {p17:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = ["link","qr"]
-- p4 = "1"
-- p5 = ["","Unknown"]
-- p6 = "2026-11-20 14:30:00.250"
-- p7 = "2026-11-21 14:30:00.250"
-- p8 = ["link","qr"]
-- p9 = ["Demo booked"]
-- p10 = "1"
-- p11 = "2026-11-20 14:30:00.250"
-- p12 = "2026-11-21 14:30:00.250"
-- p13 = ["link","qr"]
-- p14 = ["Demo booked"]
-- p15 = ["new"]
-- p16 = "1"
-- p17 = "5000"
-- set log_comment = analytics composite countries
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom
