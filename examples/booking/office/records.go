// SPDX-License-Identifier: Apache-2.0

// Package office has what a booking service stores, and the rules that it keeps. Each house is a
// tenant: its records lie below a directory that its stores cannot leave.
package office

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

//go:generate go tool persistgen

// Room is what a guest books.
type Room struct {
	_ persistable.Type      `persist:"Room"`
	_ persistable.Directory `persist:"houses/{House}/rooms,layer=partition"`

	ID    idgen.ID
	House string
	Name  string `persist:"unique,fold,match='.',maxlen=80"` // "Blue Room" and "blue room" are one name
	Seats int    `persist:"index,min=1,max=500"`
}

// Guest is found by the words of the name and the notes. A guest that was deleted can be restored.
type Guest struct {
	_ persistable.Type      `persist:"Guest"`
	_ persistable.Directory `persist:"houses/{House}/guests,layer=partition"`
	_ persistable.Search    `persist:"Name,Notes"`

	ID        idgen.ID
	House     string
	Name      string    `persist:"match='.',maxlen=200"`
	Email     string    `persist:"unique,fold,match='^[^@ ]+@[^@ ]+$',maxlen=254"`
	Notes     string    `persist:"maxlen=2000"`
	CreatedAt time.Time `persist:"created"`
	UpdatedAt time.Time `persist:"updated"`
	DeletedAt time.Time `persist:"deleted"`
}

// State is what has become of a booking. Its names are stored with the schema, so that tools show them.
type State int

// The states of a booking.
const (
	Booked State = iota
	Cancelled
)

// Reservation is the use of a room by a guest from Begin to End. A room or a guest with bookings cannot be
// deleted.
type Reservation struct {
	_ persistable.Type      `persist:"Reservation"`
	_ persistable.Directory `persist:"houses/{House}/bookings,layer=partition"`
	_ persistable.Index     `persist:"RoomID,Begin,where=State=Booked,name=Taken"`

	ID        idgen.ID
	Version   persistable.Version // an ETag of the booking
	House     string
	RoomID    idgen.ID  `persist:"ref=Room,restrict,index"`
	GuestID   idgen.ID  `persist:"ref=Guest,restrict,index"`
	Begin     time.Time `persist:"index"`
	End       time.Time
	State     State     `persist:"enum"`
	CreatedAt time.Time `persist:"created"`
}

// Validate refuses a booking without time.
func (b *Reservation) Validate() error {
	if !b.Begin.Before(b.End) {
		return errors.New("a booking ends after it begins")
	}
	return nil
}

// BeforeSave notes in the transaction of each write what is written, and the user of the request.
func (b *Reservation) BeforeSave(ctx context.Context, tx persistable.Tx) error {
	log := EntryStoreOf(tx.DB(), b.House)
	//persistvet:ignore freshvalue an attempt that fails leaves no entry
	return log.In(tx).Create(ctx, log.New(Entry{ReservationID: b.ID, User: userOf(ctx), State: b.State}))
}

// Remark is deleted with its booking.
type Remark struct {
	_ persistable.Type      `persist:"Remark"`
	_ persistable.Directory `persist:"houses/{House}/remarks,layer=partition"`

	ID            idgen.ID
	House         string
	ReservationID idgen.ID  `persist:"ref=Reservation,cascade,index"`
	Text          string    `persist:"match='.',maxlen=2000"`
	CreatedAt     time.Time `persist:"created"`
}

// Entry is one line of the log of a booking. It stays when the booking is deleted, so nothing checks to
// what it refers.
type Entry struct {
	_ persistable.Type      `persist:"Entry"`
	_ persistable.Directory `persist:"houses/{House}/log,layer=partition"`

	ID            idgen.ID
	House         string
	ReservationID idgen.ID `persist:"ref=Reservation,index"`
	User          string
	State         State     `persist:"enum"`
	At            time.Time `persist:"created"`
}

// userKey is the key under which a context carries the user of a request.
type userKey struct{}

// WithUser returns a context for what a user does.
func WithUser(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, userKey{}, name)
}

func userOf(ctx context.Context) string {
	name, _ := ctx.Value(userKey{}).(string)
	return name
}
