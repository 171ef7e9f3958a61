-- The meaning of the columns of events, roll-ups and records, for people who query them; only metadata is changed.
-- On a cluster these are the Distributed tables. `ip` has none: releases read its expiry from the text behind its type.
ALTER TABLE click_events ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN timestamp 'When it happened',
    COMMENT COLUMN click_id 'Id of the API, which begins with the time',
    COMMENT COLUMN link_id 'links.id; events of removed links are still here',
    COMMENT COLUMN trigger 'link, qr, pageview or deeplink',
    COMMENT COLUMN country 'Two letters, or Unknown',
    COMMENT COLUMN region 'Subdivision such as CA, or Unknown; the API answers US-CA',
    COMMENT COLUMN city 'Name, or Unknown',
    COMMENT COLUMN continent 'AF, AN, AS, EU, NA, OC or SA; empty when unknown',
    COMMENT COLUMN device 'Desktop, Mobile, Tablet, Smarttv or Console',
    COMMENT COLUMN browser 'Name such as Mobile Safari, or Unknown',
    COMMENT COLUMN os 'Name such as Mac OS, or Unknown',
    COMMENT COLUMN referer 'Host without www., or (direct)',
    COMMENT COLUMN referer_url 'Address without its query, or (direct)',
    COMMENT COLUMN url 'Destination with its query',
    COMMENT COLUMN url_base 'Destination without its query',
    COMMENT COLUMN utm_source 'Parameter of the destination, decoded; empty without one',
    COMMENT COLUMN utm_medium 'Parameter of the destination, decoded; empty without one',
    COMMENT COLUMN utm_campaign 'Parameter of the destination, decoded; empty without one',
    COMMENT COLUMN utm_term 'Parameter of the destination, decoded; empty without one',
    COMMENT COLUMN utm_content 'Parameter of the destination, decoded; empty without one',
    COMMENT COLUMN payload 'JSON from which answers are made; its form may change',
    COMMENT COLUMN stored_at 'When the row was inserted';

ALTER TABLE lead_events ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN timestamp 'When it happened',
    COMMENT COLUMN event_id 'Id of the API, which begins with the time',
    COMMENT COLUMN event_name 'Name that was reported',
    COMMENT COLUMN customer_id 'customers.id',
    COMMENT COLUMN link_id 'links.id; events of removed links are still here',
    COMMENT COLUMN click_id 'Click that led to it: click_events.click_id',
    COMMENT COLUMN click_timestamp 'When that click happened',
    COMMENT COLUMN trigger 'Of the click: link, qr, pageview or deeplink',
    COMMENT COLUMN country 'Of the click: two letters, or Unknown',
    COMMENT COLUMN region 'Of the click: subdivision such as CA, or Unknown; the API answers US-CA',
    COMMENT COLUMN city 'Of the click: name, or Unknown',
    COMMENT COLUMN continent 'Of the click: AF, AN, AS, EU, NA, OC or SA; empty when unknown',
    COMMENT COLUMN device 'Of the click: Desktop, Mobile, Tablet, Smarttv or Console',
    COMMENT COLUMN browser 'Of the click: name such as Mobile Safari, or Unknown',
    COMMENT COLUMN os 'Of the click: name such as Mac OS, or Unknown',
    COMMENT COLUMN referer 'Of the click: host without www., or (direct)',
    COMMENT COLUMN referer_url 'Of the click: address without its query, or (direct)',
    COMMENT COLUMN url 'Of the click: destination with its query',
    COMMENT COLUMN url_base 'Of the click: destination without its query',
    COMMENT COLUMN utm_source 'Of the click: parameter of the destination, decoded; empty without one',
    COMMENT COLUMN utm_medium 'Of the click: parameter of the destination, decoded; empty without one',
    COMMENT COLUMN utm_campaign 'Of the click: parameter of the destination, decoded; empty without one',
    COMMENT COLUMN utm_term 'Of the click: parameter of the destination, decoded; empty without one',
    COMMENT COLUMN utm_content 'Of the click: parameter of the destination, decoded; empty without one',
    COMMENT COLUMN metadata_kv 'Scalars of the metadata as path=value',
    COMMENT COLUMN metadata_paths 'Made from metadata_kv: each pair up to its =',
    COMMENT COLUMN metadata_numbers 'Made from metadata_kv: the number of each value, NaN where it is none',
    COMMENT COLUMN payload 'JSON from which answers are made; its form may change',
    COMMENT COLUMN stored_at 'When the row was inserted';

ALTER TABLE sale_events ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN timestamp 'When it happened',
    COMMENT COLUMN event_id 'Id of the API, which begins with the time',
    COMMENT COLUMN event_name 'Name that was reported',
    COMMENT COLUMN customer_id 'customers.id',
    COMMENT COLUMN link_id 'links.id; events of removed links are still here',
    COMMENT COLUMN click_id 'Click that led to it: click_events.click_id',
    COMMENT COLUMN click_timestamp 'When that click happened',
    COMMENT COLUMN trigger 'Of the click: link, qr, pageview or deeplink',
    COMMENT COLUMN country 'Of the click: two letters, or Unknown',
    COMMENT COLUMN region 'Of the click: subdivision such as CA, or Unknown; the API answers US-CA',
    COMMENT COLUMN city 'Of the click: name, or Unknown',
    COMMENT COLUMN continent 'Of the click: AF, AN, AS, EU, NA, OC or SA; empty when unknown',
    COMMENT COLUMN device 'Of the click: Desktop, Mobile, Tablet, Smarttv or Console',
    COMMENT COLUMN browser 'Of the click: name such as Mobile Safari, or Unknown',
    COMMENT COLUMN os 'Of the click: name such as Mac OS, or Unknown',
    COMMENT COLUMN referer 'Of the click: host without www., or (direct)',
    COMMENT COLUMN referer_url 'Of the click: address without its query, or (direct)',
    COMMENT COLUMN url 'Of the click: destination with its query',
    COMMENT COLUMN url_base 'Of the click: destination without its query',
    COMMENT COLUMN utm_source 'Of the click: parameter of the destination, decoded; empty without one',
    COMMENT COLUMN utm_medium 'Of the click: parameter of the destination, decoded; empty without one',
    COMMENT COLUMN utm_campaign 'Of the click: parameter of the destination, decoded; empty without one',
    COMMENT COLUMN utm_term 'Of the click: parameter of the destination, decoded; empty without one',
    COMMENT COLUMN utm_content 'Of the click: parameter of the destination, decoded; empty without one',
    COMMENT COLUMN metadata_kv 'Scalars of the metadata as path=value',
    COMMENT COLUMN metadata_paths 'Made from metadata_kv: each pair up to its =',
    COMMENT COLUMN metadata_numbers 'Made from metadata_kv: the number of each value, NaN where it is none',
    COMMENT COLUMN payload 'JSON from which answers are made; its form may change',
    COMMENT COLUMN stored_at 'When the row was inserted',
    COMMENT COLUMN invoice_id 'Number that was reported; empty without one',
    COMMENT COLUMN amount 'Smallest unit of the currency in payload: cents of USD unless no rate was known',
    COMMENT COLUMN sale_type 'new or recurring, decided when the sale was accepted';

ALTER TABLE link_totals ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN link_id 'links.id',
    COMMENT COLUMN clicks 'Part of the number of clicks, removed links included: read with sum',
    COMMENT COLUMN leads 'Part of the number of leads: read with sum',
    COMMENT COLUMN conversions 'Part of the number of new sales: read with sum',
    COMMENT COLUMN sales 'Part of the number of sales: read with sum',
    COMMENT COLUMN sale_amount 'Part of the sum of the amounts: read with sum',
    COMMENT COLUMN last_clicked 'Read with max';

ALTER TABLE customer_totals ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN customer_id 'customers.id',
    COMMENT COLUMN leads 'Part of the number of leads: read with sum',
    COMMENT COLUMN sales 'Part of the number of sales: read with sum',
    COMMENT COLUMN sale_amount 'Part of the sum of the amounts: read with sum',
    COMMENT COLUMN first_sale_at 'Read with min';

ALTER TABLE workspace_slots ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN slot 'Start of a quarter of an hour',
    COMMENT COLUMN clicks 'Part of the number of clicks, removed links included: read with sum',
    COMMENT COLUMN leads 'Part of the number of leads: read with sum',
    COMMENT COLUMN sales 'Part of the number of sales: read with sum',
    COMMENT COLUMN sale_amount 'Part of the sum of the amounts: read with sum';

ALTER TABLE link_days ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN link_id 'links.id',
    COMMENT COLUMN day 'Day of the events, UTC',
    COMMENT COLUMN clicks 'Part of the number of clicks, removed links included: read with sum',
    COMMENT COLUMN leads 'Part of the number of leads: read with sum',
    COMMENT COLUMN sales 'Part of the number of sales: read with sum',
    COMMENT COLUMN sale_amount 'Part of the sum of the amounts: read with sum';

ALTER TABLE workspaces ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN id 'Number of the workspace; ws_… of the API is the same number',
    COMMENT COLUMN version 'Of several rows the highest is the record: read with FINAL',
    COMMENT COLUMN deleted '1 once it was removed; FINAL hides it',
    COMMENT COLUMN slug 'Short name',
    COMMENT COLUMN plan 'Plan, such as business',
    COMMENT COLUMN created_at 'When it was made',
    COMMENT COLUMN data 'Whole record as JSON; its form may change';

ALTER TABLE domains ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN id 'Number of the domain; dom_… of the API is the same number',
    COMMENT COLUMN version 'Of several rows the highest is the record: read with FINAL',
    COMMENT COLUMN deleted '1 once it was removed; FINAL hides it',
    COMMENT COLUMN slug 'Host',
    COMMENT COLUMN archived '1 if it is archived',
    COMMENT COLUMN created_at 'When it was made',
    COMMENT COLUMN data 'Whole record as JSON; its form may change';

ALTER TABLE links ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN id 'Number of the link; link_… of the API is the same number',
    COMMENT COLUMN version 'Of several rows the highest is the record: read with FINAL',
    COMMENT COLUMN deleted '1 once it was removed; FINAL hides it',
    COMMENT COLUMN domain 'Host of the short link',
    COMMENT COLUMN key 'Path of the short link; _root is the link of the domain itself',
    COMMENT COLUMN url 'Destination',
    COMMENT COLUMN external_id 'Your own id of the link; empty without one',
    COMMENT COLUMN tenant_id 'Your own id of a tenant; empty without one',
    COMMENT COLUMN folder_id 'folders.id; 0 without one',
    COMMENT COLUMN tag_ids 'tags.id of its tags',
    COMMENT COLUMN partner_id 'partners.id; 0 without one',
    COMMENT COLUMN program_id 'programs.id; 0 without one',
    COMMENT COLUMN user_id 'User whose key made it; empty without one',
    COMMENT COLUMN archived '1 if it is archived',
    COMMENT COLUMN test_completed_at 'When its A/B test ends; 1970 without one',
    COMMENT COLUMN created_at 'When it was made',
    COMMENT COLUMN data 'Whole record as JSON; its form may change';

ALTER TABLE customers ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN id 'Number of the customer; cus_… of the API is the same number',
    COMMENT COLUMN version 'Of several rows the highest is the record: read with FINAL',
    COMMENT COLUMN deleted '1 once it was removed; FINAL hides it',
    COMMENT COLUMN external_id 'Your own id of the customer; empty once removed',
    COMMENT COLUMN email 'Empty without one, and once removed',
    COMMENT COLUMN country 'Two letters; empty without one',
    COMMENT COLUMN link_id 'Link that brought the customer first: links.id; 0 without one',
    COMMENT COLUMN created_at 'When it was made',
    COMMENT COLUMN data 'Whole record as JSON; its form may change';

ALTER TABLE tags ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN id 'Number of the tag; tag_… of the API is the same number',
    COMMENT COLUMN version 'Of several rows the highest is the record: read with FINAL',
    COMMENT COLUMN deleted '1 once it was removed; FINAL hides it',
    COMMENT COLUMN name 'Name',
    COMMENT COLUMN color 'Name of a color',
    COMMENT COLUMN created_at 'When it was made',
    COMMENT COLUMN data 'Whole record as JSON; its form may change';

ALTER TABLE folders ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN id 'Number of the folder; fold_… of the API is the same number',
    COMMENT COLUMN version 'Of several rows the highest is the record: read with FINAL',
    COMMENT COLUMN deleted '1 once it was removed; FINAL hides it',
    COMMENT COLUMN name 'Name',
    COMMENT COLUMN access_level 'What members may do: write or read; empty: only owners have access',
    COMMENT COLUMN created_at 'When it was made',
    COMMENT COLUMN data 'Whole record as JSON; its form may change';

ALTER TABLE groups ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN id 'Number of the group of partners; grp_… of the API is the same number',
    COMMENT COLUMN version 'Of several rows the highest is the record: read with FINAL',
    COMMENT COLUMN deleted '1 once it was removed; FINAL hides it',
    COMMENT COLUMN name 'Name',
    COMMENT COLUMN slug 'Short name',
    COMMENT COLUMN color 'Color; empty without one',
    COMMENT COLUMN program_id 'programs.id; 0 without one',
    COMMENT COLUMN created_at 'When it was made',
    COMMENT COLUMN data 'Whole record as JSON; its form may change';

ALTER TABLE partner_tags ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN id 'Number of the tag of partners; ptag_… of the API is the same number',
    COMMENT COLUMN version 'Of several rows the highest is the record: read with FINAL',
    COMMENT COLUMN deleted '1 once it was removed; FINAL hides it',
    COMMENT COLUMN name 'Name',
    COMMENT COLUMN created_at 'When it was made',
    COMMENT COLUMN data 'Whole record as JSON; its form may change';

ALTER TABLE partners ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN id 'Number of the partner; pn_… of the API is the same number',
    COMMENT COLUMN version 'Of several rows the highest is the record: read with FINAL',
    COMMENT COLUMN deleted '1 once it was removed; FINAL hides it',
    COMMENT COLUMN name 'Name',
    COMMENT COLUMN email 'Empty without one',
    COMMENT COLUMN country 'Two letters; empty without one',
    COMMENT COLUMN tenant_id 'Your own id of the partner; empty without one',
    COMMENT COLUMN group_id 'groups.id; 0 without one',
    COMMENT COLUMN program_id 'programs.id; 0 without one',
    COMMENT COLUMN partner_tag_ids 'partner_tags.id of its tags',
    COMMENT COLUMN status 'State in the program, such as approved or banned',
    COMMENT COLUMN created_at 'When it was made',
    COMMENT COLUMN data 'Whole record as JSON; its form may change';

ALTER TABLE programs ${cluster}
    COMMENT COLUMN workspace_id 'Number of the workspace: workspaces.id',
    COMMENT COLUMN id 'Number of the program; prog_… of the API is the same number',
    COMMENT COLUMN version 'Of several rows the highest is the record: read with FINAL',
    COMMENT COLUMN deleted '1 once it was removed; FINAL hides it',
    COMMENT COLUMN name 'Name',
    COMMENT COLUMN domain_id 'domains.id; 0 without one',
    COMMENT COLUMN created_at 'When it was made',
    COMMENT COLUMN data 'Whole record as JSON; its form may change';
