// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"maps"
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
				faults = append(faults, fmt.Sprintf("incompatible orders: T%d read %s = %v, which is not a beginning of %v", a.id, o.key, o.list, longest))
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

// edgeKind says why one transaction must come before another.
type edgeKind int

const (
	ww       edgeKind = 1 << iota // it wrote what the other wrote over
	wr                            // it wrote what the other read
	rw                            // it read what the other wrote over
	realTime                      // it ended before the other began
)

func (k edgeKind) String() string {
	return map[edgeKind]string{ww: "ww", wr: "wr", rw: "rw", realTime: "time"}[k]
}

// orderGraph has an edge from each transaction to those that must come after it.
type orderGraph struct {
	next map[int][]orderEdge
}

type orderEdge struct {
	from, to int
	kind     edgeKind
	key      string
	note     string
}

func newOrderGraph() *orderGraph { return &orderGraph{next: map[int][]orderEdge{}} }

func (g *orderGraph) add(e orderEdge) {
	if e.from != e.to {
		g.next[e.from] = append(g.next[e.from], e)
	}
}

// anomalyClasses are the kinds of cycles, the worst first: an edge of the first
// kind, and back by edges of the rest.
var anomalyClasses = []struct {
	name        string
	first, rest edgeKind
}{
	{"G0 (dirty write)", ww, ww},
	{"G1c (circular information flow)", wr, ww | wr},
	{"G-single (read skew)", rw, ww | wr},
	{"G2 (write skew)", rw, ww | wr | rw},
	{"G0 against real time", ww, ww | realTime},
	{"G1c against real time", wr, ww | wr | realTime},
	{"G-single against real time (stale read)", rw, ww | wr | realTime},
	{"G2 against real time", rw, ww | wr | rw | realTime},
}

// anomalies returns the shortest cycle of the worst class that the graph has.
func (g *orderGraph) anomalies() []string {
	if !g.cyclic() {
		return nil
	}
	for _, class := range anomalyClasses {
		if cycle := g.shortest(class.first, class.rest); cycle != nil {
			return []string{className(class.name, cycle) + ": " + describeCycle(cycle)}
		}
	}
	panic("kvtest: a cycle of no class")
}

// className names a cycle more exactly where it can.
func className(name string, cycle []orderEdge) string {
	elsewhere := func(e orderEdge) bool { return e.key != cycle[0].key }
	if name == "G-single (read skew)" && !slices.ContainsFunc(cycle, elsewhere) {
		return "G-single (lost update)"
	}
	return name
}

// cyclic walks depth first; an edge to a node of the present path closes a cycle.
func (g *orderGraph) cyclic() bool {
	const (
		onPath   = 1
		finished = 2
	)
	state := map[int]int{}
	var visit func(node int) bool
	visit = func(node int) bool {
		state[node] = onPath
		for _, e := range g.next[node] {
			if state[e.to] == onPath || state[e.to] == 0 && visit(e.to) {
				return true
			}
		}
		state[node] = finished
		return false
	}
	return slices.ContainsFunc(g.nodes(), func(node int) bool { return state[node] == 0 && visit(node) })
}

func (g *orderGraph) nodes() []int { return slices.Sorted(maps.Keys(g.next)) }

// shortest returns the shortest cycle of an edge of one kind and edges of the
// kinds rest, or nil.
func (g *orderGraph) shortest(first, rest edgeKind) (best []orderEdge) {
	for _, node := range g.nodes() {
		for _, e := range g.next[node] {
			if e.kind&first == 0 {
				continue
			}
			back, ok := g.path(e.to, e.from, rest)
			if ok && (best == nil || len(back)+1 < len(best)) {
				best = append([]orderEdge{e}, back...)
			}
		}
	}
	return best
}

// path walks breadth first along edges of some kinds.
func (g *orderGraph) path(from, to int, kinds edgeKind) ([]orderEdge, bool) {
	came, queue := map[int]orderEdge{}, []int{from}
	for len(queue) > 0 && queue[0] != to {
		for _, e := range g.next[queue[0]] {
			if _, seen := came[e.to]; !seen && e.to != from && e.kind&kinds != 0 {
				came[e.to] = e
				queue = append(queue, e.to)
			}
		}
		queue = queue[1:]
	}
	if len(queue) == 0 {
		return nil, false
	}
	var path []orderEdge
	for node := to; node != from; node = came[node].from {
		path = append(path, came[node])
	}
	slices.Reverse(path)
	return path, true
}

// describeCycle tells a cycle with the reason of each step.
func describeCycle(cycle []orderEdge) string {
	var b strings.Builder
	for _, e := range cycle {
		fmt.Fprintf(&b, "%s –%s %s%s→ ", nodeName(e.from), e.kind, e.key, e.note)
	}
	return b.String() + nodeName(cycle[0].from)
}

func nodeName(node int) string {
	if node < 0 {
		return fmt.Sprintf("instant %d", -1-node)
	}
	return fmt.Sprintf("T%d", node)
}
