// Package wellknown has what is known of well-known servers: which arguments of their tools are paths, what they need of
// the kernel, which tool lists the roots that they apply, and whether sessions may share them. It is data, in
// profiles.json. A server is recognised by the command line of its entry, which package commandline reads.
//
// validate/declare reads the arguments of a [Server], and children/confinement opens its [Kernel] needs. The package looks
// at no disk, and may be used by any goroutine.
package wellknown
