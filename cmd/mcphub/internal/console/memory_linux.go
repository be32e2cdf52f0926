package console

import "mcphub/internal/proctree"

// memoryOf returns what processes take, each with all that it has started, in bytes by process id.
// What processes share counts for each.
func memoryOf(pids []int) map[int]int64 {
	all := map[int]int64{}
	if len(pids) == 0 {
		return all
	}
	table, err := proctree.Read()
	if err != nil {
		return all // it is shown as not known
	}
	for _, pid := range pids {
		own, ok := table.Process(pid)
		if !ok {
			continue
		}
		for _, p := range append(table.Descendants(pid), own) {
			all[pid] += p.Usage().Memory
		}
	}
	return all
}
