// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"sort"
	"weak"

	"github.com/kazahana-db/kazahana/kv"
)

// keptViews is how many past views can be read again by SetReadVersion although
// no transaction reads them.
const keptViews = 1024

// history remembers the views of the last five seconds, for transactions that
// choose their read version. Each commit makes a view, and a view holds the
// nodes of the window that its commit copied: to hold all of them would take
// more memory than what was written. So it holds the newest, and of the others
// those that a transaction still reads, which keeps them itself.
type history struct {
	newest [keptViews]*view
	count  int        // how many views were ever added
	views  []pastView // of the last five seconds, ascending
	first  int        // the views before it are forgotten
}

type pastView struct {
	version int64
	view    weak.Pointer[view]
}

// add remembers a view that differs from the one before.
func (h *history) add(v *view) {
	v.kept = v
	h.newest[h.count%keptViews] = v
	h.count++
	h.views = append(h.views, pastView{v.version, weak.Make(v)})
	oldest := v.version - windowVersions
	for h.first < len(h.views)-1 && h.views[h.first+1].version <= oldest {
		h.first++ // nobody may read it any more
	}
	if h.first > keptViews && h.first > len(h.views)/2 {
		h.views = append(h.views[:0], h.views[h.first:]...)
		h.first = 0
	}
}

// replaceLast puts another view of the same state in the place of the last one.
func (h *history) replaceLast(v *view) {
	at := &h.newest[(h.count-1)%keptViews]
	v.kept = v
	(*at).kept = v // who reads the one before keeps this one, by which the history knows of it
	*at = v
	h.views[len(h.views)-1].view = weak.Make(v)
}

// at returns the view that was the newest at a version.
func (h *history) at(version int64) (*view, error) {
	views := h.views[h.first:]
	i := sort.Search(len(views), func(i int) bool { return views[i].version > version })
	if i == 0 {
		return nil, tooOld(version)
	}
	v := views[i-1].view.Value()
	if v == nil {
		return nil, kv.NewError(kv.CodeTransactionTooOld, "version %d is behind the last %d commits, and no transaction reads it any more", version, keptViews)
	}
	return v, nil
}

// release lets go of all views that no transaction reads, the newest excepted.
func (h *history) release() {
	last := (h.count - 1) % keptViews
	for i := range h.newest {
		if i != last {
			h.newest[i] = nil
		}
	}
}

// oldest returns the version of the oldest view, not below the given version,
// that is not known to be garbage.
func (h *history) oldest(above int64) int64 {
	views := h.views[h.first:]
	newest := views[len(views)-1].version
	for _, v := range views {
		if v.version == newest || v.version >= above && v.view.Value() != nil {
			return v.version
		}
	}
	return newest
}

// viewed returns the version of the view that is read at a version.
func (h *history) viewed(version int64) int64 {
	views := h.views[h.first:]
	i := sort.Search(len(views), func(i int) bool { return views[i].version > version })
	return views[max(i-1, 0)].version
}

// kept returns the oldest version whose view is in memory, and how many are.
func (h *history) kept() (oldest int64, n int) {
	for _, v := range h.views[h.first:] {
		if v.view.Value() == nil {
			continue
		}
		if n++; n == 1 {
			oldest = v.version
		}
	}
	return oldest, n
}
