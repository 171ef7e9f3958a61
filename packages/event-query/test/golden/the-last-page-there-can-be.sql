-- GET /events?page=9007199254740991&limit=1000

SELECT sum(clicks)
  FROM workspace_slots
  WHERE workspace_id = {p0:UInt64}
  AND slot >= {p1:DateTime('UTC')}
  AND slot <= {p2:DateTime('UTC')}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00"
-- p2 = "2026-11-21 14:30:00"
-- set log_comment = events clicks count
