// SPDX-License-Identifier: Apache-2.0

// Package token keeps the tokens of the ID service: admin tokens, and key
// tokens, with which a program makes the IDs of one key.
//
//	a, err := token.New(s, watch, token.Options{})
//	if err != nil {
//		return err
//	}
//	admin, err := a.MakeAdmin(ctx) // shown once; "" if there is one already
//	t, err := a.Key(ctx, admin, "orders")
//	identity, err := a.Check(ctx, t.Text)
//	fmt.Println(identity.Key) // orders
//
// # What is stored
//
// Only SHA-256 hashes of tokens are stored. An admin token has 256 random bits. A
// key token is the HMAC-SHA-384, keyed with the admin token that asked for it, of a
// random nonce and the key; the nonce is stored. So the same admin token gets the
// same key token again while that is valid, as the deployed worker's clients
// expect, though the stored data does not yield it.
//
// The last 8 bytes of a token are its mark: a MAC of the rest, by a secret in the store. It tells
// the tokens that the service made from guesses without a lookup, so that a flood of guesses
// delays no token; it gives no right. Tokens of older programs have no mark: their first use in a
// process may be refused during such a flood, until they are reset.
//
// Each key has a document of its tokens, which decides what is valid. Each token
// has a document by its hash that names the key; it is written first, and has no
// effect alone. After a write with an unknown outcome the call reads the documents:
// a token that it returns without an error is valid.
//
// # Admin tokens that leak
//
// Key tokens do not end with the admin token that asked for them: programs that
// have one go on when an operator changes the admin token. The new admin token gets
// key tokens of its own; those before it are valid until they expire.
//
// With a leaked admin token an attacker could ask for the token of every key, and,
// with a copy of the store, derive the key tokens that were made with it. So after
// a leak, reset the admin token first ([Authority.ResetAdmin], or change the one of
// the options and restart all workers), and then the tokens of all keys
// ([Authority.Reset] or [Authority.Revoke]), [GlobalKey] included.
//
// A copy of the store alone yields no token, if the admin token is random. An admin
// token that a person made up can be guessed: the stored hash shows whether a guess
// is right. [Options] refuses the worst ones.
//
// # Resets
//
// A reset is in force on all workers when it returns: see package revision. The exception is a
// worker that cannot ask the store at that time: with [Authority.CheckLast] it accepts the old token
// for IDs until it can, for [revision.Options.Outage] at most. If a
// process crashes after its change and before the announcement, its caller does not
// learn of the reset, and workers that know the old token accept it for at most a
// minute.
package token
