// SPDX-License-Identifier: Apache-2.0

package placement

// Strategy chooses the authority of a key among the members that can activate
// it. It is a pure function of its arguments: it reads no clock and no random
// source, so that two coordinators with the same view of a topology agree. Where
// a strategy looks at [Candidates.Self] they do not, and need not: a claim tells the loser
// who has the key.
type Strategy interface {
	// Name says in events and explanations which strategy it is.
	Name() string
	// Choose returns the index in c.Members of the authority, or -1 if it takes
	// none. c.Members is not empty.
	Choose(key Key, c Candidates) int
}

// Scorer is a [Strategy] that can tell how it ranks the members, for
// explanations. The member with the greatest score is chosen.
type Scorer interface {
	Strategy
	// Score returns the score of c.Members[i].
	Score(key Key, c Candidates, i int) uint64
}

// Candidates are the members that a strategy chooses from: those that activate
// the kind and are not draining, by name.
type Candidates struct {
	Members  []Member // not to be changed
	Self     int      // which of them the coordinator is, or -1
	Topology int64
}

// Hasher hashes a member and a key for rendezvous hashing: the member with the
// greatest hash is the authority. It must be a pure function that spreads well
// over all 64 bits. All members of a cluster use the same.
type Hasher interface {
	// Hash returns the hash of a key for a member.
	Hash(member string, key Key) uint64
}
