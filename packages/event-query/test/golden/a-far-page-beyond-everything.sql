-- GET /events?page=4&limit=3&interval=all

SELECT slot, reached - events
  FROM (SELECT slot, events, sum(events) OVER (ORDER BY slot DESC ROWS UNBOUNDED PRECEDING) AS reached FROM (SELECT slot, sum(clicks) AS events FROM workspace_slots WHERE workspace_id = {p0:UInt64} AND slot <= {p1:DateTime('UTC')} GROUP BY slot))
  WHERE reached > {p2:UInt64}
  ORDER BY slot DESC
  LIMIT 1
-- p0 = "500"
-- p1 = "2026-11-21 23:45:00"
-- p2 = "9"
-- set log_comment = events clicks slot
