// Package removal removes a folder in which a stranger could write, whatever he did to
// keep it: folders that no one may look into, and folders so deep that no path leads
// there.
//
// It changes modes only of directories below the folder, through descriptors, and never
// follows a link. However deep the folder is, it has three descriptors open. It gives up
// after a while, so that who goes on making files does not hold up the one who removes
// them.
//
// Concurrency: it keeps nothing. Elsewhere than on Unix it is os.RemoveAll.
package removal
