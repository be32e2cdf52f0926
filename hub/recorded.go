package hub

import (
	"mcphub/hub/record"
)

// Audit says how decisions are recorded, and AuditStatus how that stands.
type (
	Audit       = record.Settings
	AuditStatus = record.Status
)
