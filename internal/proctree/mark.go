package proctree

import "strconv"

// InstanceVariable marks, in the environment of one run of a server and of all whom it
// starts, which run that is.
const InstanceVariable = "MCPHUB_INSTANCE"

// HubName is the name of a process that starts servers, and GuardianName(its id) its
// guardian's. No one can change the name of another process, and everybody can read it:
// the one who descends from one cannot hide that.
const HubName = namesBegin + "hub"

// namesBegin begins the names of hubs and of guardians. The kernel keeps 15 bytes.
const namesBegin = "mcphub:"

// GuardianName returns the name of the guardian of a hub with this id.
func GuardianName(hub int) string { return namesBegin + strconv.Itoa(hub) }
