// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// orderGraph says who must come before whom.
type orderGraph struct {
	next map[int][]orderEdge
}

type orderEdge struct {
	to  int
	why string
}

func newOrderGraph() *orderGraph { return &orderGraph{next: map[int][]orderEdge{}} }

func (g *orderGraph) edge(from, to int, why string) {
	if from != to {
		g.next[from] = append(g.next[from], orderEdge{to, why})
	}
}

// cycle returns one cycle as text, or "". It walks depth first; an edge to a
// node of the present path closes a cycle.
func (g *orderGraph) cycle() string {
	const (
		fresh = iota
		onPath
		finished
	)
	state := map[int]int{}
	var path []int
	var visit func(node int) string
	visit = func(node int) string {
		state[node] = onPath
		path = append(path, node)
		for _, e := range g.next[node] {
			switch state[e.to] {
			case onPath:
				return g.describe(path[slices.Index(path, e.to):])
			case fresh:
				if found := visit(e.to); found != "" {
					return found
				}
			}
		}
		path = path[:len(path)-1]
		state[node] = finished
		return ""
	}
	for _, node := range slices.Sorted(maps.Keys(g.next)) {
		if state[node] == fresh {
			if found := visit(node); found != "" {
				return found
			}
		}
	}
	return ""
}

// describe tells a cycle with the reason of each step.
func (g *orderGraph) describe(nodes []int) string {
	var b strings.Builder
	for i, node := range nodes {
		to := nodes[(i+1)%len(nodes)]
		at := slices.IndexFunc(g.next[node], func(e orderEdge) bool { return e.to == to })
		fmt.Fprintf(&b, "%s –%s→ ", nodeName(node), g.next[node][at].why)
	}
	return b.String() + nodeName(nodes[0])
}

func nodeName(node int) string {
	if node < 0 {
		return fmt.Sprintf("instant %d", -1-node)
	}
	return fmt.Sprintf("T%d", node)
}
