// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

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
