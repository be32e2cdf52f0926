// Package packages installs what launchers such as npx and uvx fetch, so that a
// confined server runs from a copy that it cannot change, and needs neither its launcher
// nor the network for that.
//
// What a line of hub.json has fetched is known to [program.Program.Package]. A [Store] keeps the
// copies in a folder of the hub's. [Store.Open] gives the copy that is there and installs
// one if there is none; [Store.Renew] looks for a newer version of what is not pinned. A
// [Copy] stays on disk until it is released.
//
// # On disk
//
// Each entry has a folder. In it, copies/ID is one copy, and the file current names the one
// that runs. It is renamed into place when an install has ended well, so a copy that was
// left half done is named by no one. The file looked tells when it was looked for a newer
// version, and why that failed. A lock on the folder lets one program install at a time;
// others wait, and take what it has installed. The one who runs a copy holds a shared lock
// on it; copies that no one holds are removed after the next install.
//
// # What it refuses to do
//
// An install runs in a sandbox of its own: with the network, without roots, and with
// nothing to write but the new copy and the cache of the package manager. It cannot touch
// the copies that run. A program that lies outside the copy, or leads out of it, is not
// run. The package judges no package: what runs is what hub.json names.
//
// A Store may be used from any goroutine. It starts none, and keeps nothing in memory.
package packages
