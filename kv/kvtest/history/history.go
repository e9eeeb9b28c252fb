// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// attempt is one transaction of a history: the lists that it read and the
// elements that it appended to lists.
type attempt struct {
	id int
	lifetime
	reads   []observation
	appends []element // in order
}

// element is a number in the list of a key; no two are alike.
type element struct {
	key    string
	number int
}

// observation is a key's list as an attempt saw it, its own elements left out.
type observation struct {
	key    string
	list   []int
	ranged bool // by reading a range
}

// history is what the clients of a database saw: every transaction reads lists
// and appends unique elements to them, so that the order of writes can be read
// off the lists (the idea of Kingsbury and Alvaro, "Elle: Inferring Isolation
// Anomalies from Experimental Observations", VLDB 2020). The names of the
// anomalies are Adya's ("Weak Consistency", MIT 1999).
type history struct {
	attempts []attempt
	writers  map[int]*attempt // of each element
	orders   map[string][]int // the longest list of each key
}

// analyse returns why the history is not strictly serializable, or nothing.
func analyse(attempts []attempt) []string {
	h := &history{attempts: attempts, writers: map[int]*attempt{}, orders: map[string][]int{}}
	for i := range attempts {
		for _, e := range attempts[i].appends {
			h.writers[e.number] = &attempts[i]
		}
	}
	faults := h.findOrders()
	faults = append(faults, h.checkElements()...)
	faults = append(faults, h.checkAppends()...)
	if len(faults) == 0 {
		faults = h.checkIntermediate()
	}
	if len(faults) > 0 {
		return faults // without orders there is no graph
	}
	return h.graph().anomalies()
}

// happened reports whether what an attempt saw and did counts.
func (h *history) happened(a *attempt) bool {
	switch a.outcome {
	case committed:
		return true
	case failed:
		return false
	}
	return slices.ContainsFunc(a.appends, h.isThere)
}

func (h *history) isThere(e element) bool { return slices.Contains(h.orders[e.key], e.number) }

// of returns the elements of a key that an attempt appended, in order.
func (a *attempt) of(key string) (numbers []int) {
	for _, e := range a.appends {
		if e.key == key {
			numbers = append(numbers, e.number)
		}
	}
	return numbers
}

// findOrders takes each key's longest list for the order of its writes; every
// other list must be a beginning of it.
func (h *history) findOrders() (faults []string) {
	for _, a := range h.attempts {
		for _, o := range a.reads {
			if len(o.list) > len(h.orders[o.key]) {
				h.orders[o.key] = o.list
			}
		}
	}
	for _, a := range h.attempts {
		for _, o := range a.reads {
			if longest := h.orders[o.key]; !slices.Equal(o.list, longest[:len(o.list)]) {
				faults = append(faults, fmt.Sprintf("incompatible orders: T%d read %s = %v, which is no beginning of %v", a.id, o.key, o.list, longest))
			}
		}
	}
	return faults
}

// checkElements looks for what should not be in the lists.
func (h *history) checkElements() (faults []string) {
	for key, order := range h.orders {
		seen := map[int]bool{}
		for _, number := range order {
			writer := h.writers[number]
			switch {
			case writer == nil || !slices.Contains(writer.appends, element{key, number}):
				faults = append(faults, fmt.Sprintf("%s holds %d, which nobody wrote", key, number))
			case writer.outcome == failed:
				faults = append(faults, fmt.Sprintf("G1a (aborted read): %s holds %d of T%d, which failed", key, number, writer.id))
			case seen[number]:
				faults = append(faults, fmt.Sprintf("%s holds %d twice: %v", key, number, order))
			}
			seen[number] = true
		}
	}
	return faults
}

// checkAppends looks for what should be in the lists and is not.
func (h *history) checkAppends() (faults []string) {
	for i := range h.attempts {
		a := &h.attempts[i]
		if !h.happened(a) {
			continue
		}
		for _, e := range a.appends {
			if !h.isThere(e) {
				faults = append(faults, fmt.Sprintf("lost update: T%d appended %d to %s, which holds %v", a.id, e.number, e.key, h.orders[e.key]))
			}
		}
	}
	return faults
}

// checkIntermediate looks for transactions that were seen half: lists that end
// between two elements of one attempt, or have others between them.
func (h *history) checkIntermediate() (faults []string) {
	for _, a := range h.attempts {
		for _, o := range a.reads {
			if len(o.list) == 0 {
				continue
			}
			last := o.list[len(o.list)-1]
			w := h.writers[last]
			if own := w.of(o.key); own[len(own)-1] != last {
				faults = append(faults, fmt.Sprintf("G1b (intermediate read): T%d read %s = %v, but T%d appended %v", a.id, o.key, o.list, w.id, own))
			}
		}
	}
	for key, order := range h.orders {
		for i, number := range order {
			w := h.writers[number]
			own := w.of(key)
			if own[0] == number && !slices.Equal(order[i:min(i+len(own), len(order))], own) {
				faults = append(faults, fmt.Sprintf("G0 (dirty write): T%d appended %v to %s, which holds %v", w.id, own, key, order))
			}
		}
	}
	return faults
}

// graph orders the transactions that happened: by writes of one key, by a write
// and its readers, by a read and the next write of its key, and by time.
func (h *history) graph() *orderGraph {
	g := newOrderGraph()
	for key, order := range h.orders {
		for i := 1; i < len(order); i++ {
			g.add(orderEdge{h.writers[order[i-1]].id, h.writers[order[i]].id, ww, key, ""})
		}
	}
	for i := range h.attempts {
		a := &h.attempts[i]
		if !h.happened(a) {
			continue
		}
		for _, o := range a.reads {
			h.readEdges(g, a.id, o)
		}
	}
	h.timeEdges(g)
	return g
}

func (h *history) readEdges(g *orderGraph, reader int, o observation) {
	order, n := h.orders[o.key], len(o.list)
	if n > 0 {
		g.add(orderEdge{h.writers[order[n-1]].id, reader, wr, o.key, ""})
	}
	if n == len(order) {
		return
	}
	next := orderEdge{reader, h.writers[order[n]].id, rw, o.key, ""}
	if n == 0 && o.ranged {
		next.note = " (a phantom)"
	}
	g.add(next)
}

// timeEdges orders an attempt before all that began after it had ended. The
// instants stand in the graph as negative numbers, so that a few edges do.
func (h *history) timeEdges(g *orderGraph) {
	ends := []int{}
	for i := range h.attempts {
		if a := &h.attempts[i]; a.outcome == committed {
			ends = append(ends, a.ended)
			g.add(orderEdge{a.id, -1 - a.ended, realTime, "", "ended"})
		}
	}
	slices.Sort(ends)
	for i := 1; i < len(ends); i++ {
		g.add(orderEdge{-1 - ends[i-1], -1 - ends[i], realTime, "", "then"})
	}
	for i := range h.attempts {
		a := &h.attempts[i]
		before, _ := slices.BinarySearch(ends, a.began)
		if before > 0 && h.happened(a) {
			g.add(orderEdge{-1 - ends[before-1], a.id, realTime, "", "before it began"})
		}
	}
}

// saw notes a list. The attempt's own elements must end it, and are left out.
func (a *attempt) saw(key, text string, ranged bool) error {
	list := []int{}
	for field := range strings.SplitSeq(strings.TrimSuffix(text, ","), ",") {
		if field == "" {
			continue
		}
		number, err := strconv.Atoi(field)
		if err != nil {
			return fmt.Errorf("%s holds %q: %w", key, text, err)
		}
		list = append(list, number)
	}
	own := a.of(key)
	others := max(0, len(list)-len(own))
	if fmt.Sprint(list[others:]) != fmt.Sprint(own) {
		return fmt.Errorf("transaction %d does not see its own writes %v of %s: %v", a.id, own, key, list)
	}
	a.reads = append(a.reads, observation{key, list[:others], ranged})
	return nil
}
