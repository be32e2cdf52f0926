// Package trial starts servers to see whether they work, as serve would start them: by a
// Hub in this process and a client of it.
//
// [Start] starts all servers of a configuration and reports what they offer. [Try] starts one, and if the
// kernel holds it again without the kernel: what it offers then is what a client has that starts it
// directly. So it is known whether the kernel takes anything from it. doctor, init, add and import try
// servers by this package and no other.
//
// If Options.Confirm is set, [Try] has the kernel report what the server would open beyond its profile, and
// starts it again with what Confirm gives to it. None of that is kept: a [Result] has it.
//
// Both are bounded in time and one start follows the other: two processes of one server
// never run at once. They return when everything that they have started has ended. Nothing
// is kept of what a server offers.
//
// The configuration is the caller's and is not changed. A [Result] is a value.
//
// It calls no tool but those of Options.Calls, and these at each start. If Options.Confined is set, it starts no server that the kernel does not hold.
package trial
