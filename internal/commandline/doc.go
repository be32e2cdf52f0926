// Package commandline reads command lines: which launchers and wrappers are on them, and which program or package they
// start in the end.
//
// [ReadLine] returns what a line starts, behind all wrappers. A command is often a launcher (npx, uvx, node, sh, make), which finds the program by its arguments. [LauncherOf] has
// what is known of each. [ProgramAt] and [Innermost] find the program on the line, [ReadPackage] the package that the
// launcher fetches, [ArgumentRoles] what each argument is to the launcher, and [ReachOf] what the line takes out of its working
// directory.
//
// The package looks at no disk, has no state, and may be used by any goroutine.
package commandline
