// SPDX-License-Identifier: Apache-2.0

// Package external gives IDs the form that a program shows to the outside: 11
// characters of base64url, from which the order and the time of the IDs cannot
// be read as they stand.
//
//	codec, err := external.New(external.Options{
//		Mode: external.Keyed,
//		Keys: map[int][]byte{0: masterKey}, // 16 bytes or more, from a file or a vault
//	})
//	orders := codec.For("order")       // a subkey for each type
//	text := orders.Encode(o.ID)        // "6PkiL_g23Gw", for a URL or JSON
//	id, err := orders.Decode(text)     // from a request, checked
//	o, err = store.Get(ctx, id)        // a database keeps the ID itself
//
// # Modes
//
// [Scramble] needs no key. It makes neighbouring IDs look unrelated, and
// nothing more: a program with this package turns them back, reads the time of
// each record and counts them. [Keyed] takes a block cipher, [Speck64] or
// [XTEA], so that this needs the key. [Plain] hides nothing.
//
// # What a key does not do
//
// An external ID is not authentication. For each key one in eight texts of 11
// characters decodes to some ID, one in 550 where [Options.MaxAhead] is set and
// the epoch is a year ago; and an ID that was seen once is known. Decide by the
// identity of the caller, not by the ID that it knows. With the key all
// external IDs can be turned back, those of the past too.
//
// # Keys
//
// Each type has a subkey of the master key ([Codec.For]), so that the ID of an
// order says nothing as that of a customer. Up to four master keys can be in
// use: the two bits that base64url has left over say which one a text was made
// with. To change the key add it under another version, have every process
// know it, then make it [Options.Current]: old texts are decoded still. A record
// then has one text for each key; compare IDs, not texts. Remove a version when
// its texts may stop working.
//
// # One spelling
//
// Decode takes exactly what Encode writes: no padding, no other alphabet, no
// stray bits. Errors are [*DecodeError].
//
// A [Codec] does not change and is safe for concurrent use. Nothing here reads
// a database or the network.
package external
