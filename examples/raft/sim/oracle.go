// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/kazahana-db/kazahana/examples/raft/core"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// oracle sees all nodes, and remembers the committed entries even if nodes lose them.
type oracle struct {
	world     *world
	leaders   map[uint64]uint64 // of terms
	committed []commit          // of the indexes from 2 on, which follow Bootstrap's snapshot
	reads     map[uint64]uint64 // to the index that a request must see
	asked     uint64            // requests
	answered  int

	requests int // for votes and pre-votes
	restored int // snapshots of others
	crashes  int
	stalls   int
	led      time.Duration // when the latest leader of the highest term was elected
	highest  uint64        // term that had a leader
	trace    uint64        // of all role changes
}

// commit is an entry that was applied by a node.
type commit struct {
	term uint64 // of the entry
	by   uint64 // term of the first node that applied it
	sum  uint64 // of this and all entries before
}

// observe checks an action of a node.
func (o *oracle) observe(p *process, before, after core.Status) {
	if before == after {
		return
	}
	o.addToTrace(uint64(o.world.Now()), after.ID, after.Term, uint64(after.State), after.Leader)
	o.checkElection(p, before, after)
	if after.State == raft.StateLeader && (before.State != raft.StateLeader || before.Term != after.Term) {
		o.checkLeader(p, after.Term)
	}
}

// checkElection checks that elections begin when rafttimer says so, and never by a count
// of etcd/raft's. A candidacy follows from a pre-candidacy without a timeout.
func (o *oracle) checkElection(p *process, before, after core.Status) {
	campaigns := after.State == raft.StatePreCandidate || after.State == raft.StateCandidate && after.Term > before.Term
	if campaigns && before.State != raft.StatePreCandidate && !p.timedOut && o.world.options.Ticks == nil {
		o.world.fail(NoTimeout, "node %d campaigns without an election timeout", p.id)
	}
}

func (o *oracle) addToTrace(values ...uint64) {
	for _, v := range values {
		o.trace = (o.trace ^ v) * 0x100000001b3 // FNV
	}
}

// checkLeader checks that a leader is the only one of its term and has all entries that were committed before.
func (o *oracle) checkLeader(p *process, term uint64) {
	if other, taken := o.leaders[term]; taken && other != p.id {
		o.world.fail(TwoLeaders, "nodes %d and %d in term %d", other, p.id, term)
	}
	o.leaders[term] = p.id
	if term > o.highest {
		o.highest, o.led = term, o.world.Now()
	}
	first, _ := p.disk.FirstIndex()
	for index := max(first, 2); index < o.end(); index++ {
		c := o.at(index)
		if has, err := p.disk.Term(index); c.by < term && (err != nil || has != c.term) {
			o.world.fail(LostEntry, "the leader of term %d, node %d, lacks entry %d of term %d", term, p.id, index, c.term)
		}
	}
}

func (o *oracle) end() uint64             { return uint64(len(o.committed)) + 2 }
func (o *oracle) at(index uint64) *commit { return &o.committed[index-2] }

// observeApply checks an entry that a node applies, and the sum of all entries up to it.
func (o *oracle) observeApply(p *process, e *raftpb.Entry, sum uint64) {
	index := e.GetIndex()
	if index == o.end() {
		o.committed = append(o.committed, commit{e.GetTerm(), p.core.Status().Term, sum})
	}
	o.compareSum(p, index, sum)
}

// compareSum checks the sum of the entries that a node has applied up to an index.
func (o *oracle) compareSum(p *process, index, sum uint64) {
	switch {
	case index == 1: // Bootstrap's snapshot
	case index >= o.end():
		o.world.fail(LostEntry, "node %d applies entry %d, and no node has applied entry %d", p.id, index, o.end())
	case o.at(index).sum != sum:
		o.world.fail(LostEntry, "node %d applies another entry at or before %d than was committed there", p.id, index)
	}
}

// countVotes counts requests for votes; with PreVote those for pre-votes, of which each election has one round.
func (o *oracle) countVotes(m *raftpb.Message) {
	first := raftpb.MsgVote
	if o.world.options.Sticky {
		first = raftpb.MsgPreVote
	}
	if m.GetType() == first {
		o.requests++
	}
}

// newRequest returns a new request to read, and remembers the entries that it must see.
func (o *oracle) newRequest() []byte {
	o.asked++
	o.reads[o.asked] = o.end() - 1
	return binary.BigEndian.AppendUint64(nil, o.asked)
}

// checkRead checks the index from which on a request may be answered.
func (o *oracle) checkRead(request []byte, index uint64) {
	least, known := o.reads[binary.BigEndian.Uint64(request)]
	o.answered++
	if known && index < least {
		o.world.fail(StaleRead, "a read may be answered from index %d on, and entry %d was applied before it began", index, least)
	}
}

// sum returns the sum of an entry and all before it.
func sum(before uint64, e *raftpb.Entry) uint64 {
	h := fnv.New64a()
	var head [24]byte
	binary.BigEndian.PutUint64(head[:], before)
	binary.BigEndian.PutUint64(head[8:], e.GetIndex())
	binary.BigEndian.PutUint64(head[16:], e.GetTerm())
	h.Write(head[:])
	h.Write(e.GetData())
	return h.Sum64()
}
