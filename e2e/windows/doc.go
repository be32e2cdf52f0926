// Package windows has tests of the Windows program, which run under Wine on Linux.
//
// Tables in testdata hold calls by how Windows is used and attacked. Their author had not read how the hub judges. The server behind the hub
// is witness, which records each call that it receives.
//
// What Wine 8 cannot show is not tested here: Wine makes no junctions and no symbolic links, and shows a link of Linux as a plain directory.
//
// It refuses to prove anything with the code of the hub: no package of the hub is imported here.
package windows
