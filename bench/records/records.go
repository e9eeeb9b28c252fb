// SPDX-License-Identifier: Apache-2.0

// Package records has the same store of users over several libraries: an id of
// the library's own, a unique address, and an index by category and time.
//
// All of them sync each save to the disk before it returns, and each is set up
// as its documentation advises for speed.
package records

import (
	"context"
	"fmt"
	"time"
)

// User is the record of the contests.
type User struct {
	Email, Name, Category string
	CreatedAt             time.Time
}

// Store has the operations that the contests measure. It is safe for concurrent use.
type Store interface {
	// Load saves many users as fast as the library can, and returns their ids.
	Load(ctx context.Context, users []User) ([]uint64, error)
	// Save saves a new user.
	Save(ctx context.Context, u User) error
	// Get returns the user with an id that Load returned.
	Get(ctx context.Context, id uint64) (User, error)
	// ByEmail returns the user with an address.
	ByEmail(ctx context.Context, email string) (User, error)
	// ByCategory returns the first users of a category in the order of time.
	ByCategory(ctx context.Context, category string, limit int) ([]User, error)
	// Count returns the number of users.
	Count(ctx context.Context) (int, error)
	Close() error
}

// start is when the first user was created.
var start = time.Date(2026, 3, 1, 9, 30, 15, 0, time.UTC)

// Numbered returns user number i. PerCategory users follow each other in each
// category.
func Numbered(i int) User {
	return User{
		Email: fmt.Sprintf("user%07d@example.com", i), Name: fmt.Sprintf("User Number %d", i),
		Category: Category(i / PerCategory), CreatedAt: start.Add(time.Duration(i) * time.Second),
	}
}

// PerCategory is how many users a category has.
const PerCategory = 100

// Category returns the name of category number i.
func Category(i int) string { return fmt.Sprintf("category%05d", i) }

// Check returns an error if two users differ.
func Check(got, want User) error {
	if got.Email != want.Email || got.Name != want.Name || got.Category != want.Category || !got.CreatedAt.Equal(want.CreatedAt) {
		return fmt.Errorf("got the user %v, want %v", got, want)
	}
	return nil
}
