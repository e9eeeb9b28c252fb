// SPDX-License-Identifier: Apache-2.0

// Package rank keeps a sorted list of elements in a database so that the rank of an
// element, the n-th element and the number of elements in a range take a few
// small reads, however long the list is. The elements are byte strings, in the
// order of bytes:
//
//	u := list.Start(tx, nil, [][]byte{element}) // erase none, insert one
//	err := u.Plan(ctx)                          // one round of reads
//	…
//	u.Write()
//	n, err := list.Rank(ctx, tx, element)       // how many elements are before it
//
// # Structure
//
// A [List] is a skip list (W. Pugh, "Skip Lists: A Probabilistic Alternative to
// Balanced Trees") whose links are counts, after RankedSet of FoundationDB's Record
// Layer (Chrysafis et al., "FoundationDB Record Layer: A Multi-Tenant Structured
// Datastore", §7). Level 0 has a key for each element. Of these, every
// sixteenth on average, chosen by a hash of the element, is also a finger of
// level 1; of these every sixteenth one of level 2; and so on to [Top]. The value of a
// finger's key is its count: how many elements there are from the finger, included,
// to the next finger of its level. Each level above 0 also begins with a finger that
// is not an element, the empty one; its key is there only while its count is not zero.
//
// # Concurrency
//
// Inserting an element that is not a finger of a level adds one to the count of the
// finger before it, by an atomic addition. Inserting one that is a finger splits the
// count of the finger before it: it gives the new finger the sum of the counts,
// one level below, from the new finger to the next one, and subtracts what
// it moves. Erasing does the opposite. All reads are snapshots, and the transaction
// gets the read conflict ranges on which that rests, no others:
//
//   - The finger before the element still is the one before: no finger of the level
//     appears between them (the keys of the level between both, excluded), and it
//     does not vanish (its key of level 0, which its count's changes do not touch).
//   - For a new finger, the elements from it to the next finger of the level are those
//     that were counted: the keys of the level below between both, and the next
//     finger's key of level 0.
//   - For an erased finger, its own count.
//   - The element itself is there, or not: its key of level 0.
//
// So of two concurrent changes, the later one fails with a conflict (1020) only if the
// earlier one has made or erased a finger directly before or after its element, at
// some level where that changes its counts, or has inserted or erased an element within
// what it splits or joins. One element in sixteen is a finger. Two changes between which
// there are two fingers of level 1, neither of them a change of a finger, never conflict. All
// changes add to the counts of the highest levels, without conflicts; these
// keys are written often.
//
// A function of a [kv.Transaction] that writes conflicts with concurrent changes of
// what it has counted; see [List.Rank], [List.Count] and [List.Nth]. With a
// snapshot it does not.
//
// A List has no state and is safe for concurrent use. An Update is for one goroutine.
// Two Updates of one transaction must follow each other: Start the second after
// Write of the first. They see the transaction's own writes.
package rank
