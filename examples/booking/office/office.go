// SPDX-License-Identifier: Apache-2.0

package office

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// ErrTaken says that the room is booked at that time.
var ErrTaken = errors.New("the room is taken")

// Office is the booking of one house.
type Office struct {
	Rooms        *RoomStore
	Guests       *GuestStore
	Reservations *ReservationStore
	Remarks      *RemarkStore
	Log          *EntryStore

	db *persistable.DB
}

// Of returns the office of a house.
func Of(db *persistable.DB, house string) *Office {
	return &Office{RoomStoreOf(db, house), GuestStoreOf(db, house), ReservationStoreOf(db, house), RemarkStoreOf(db, house), EntryStoreOf(db, house), db}
}

// Book books a room for a guest, or returns an [ErrTaken] that says until when the room is taken. Of two
// bookings of one time that are made at once, one gets the room.
func (o *Office) Book(ctx context.Context, roomID, guestID idgen.ID, begin, end time.Time) (*Reservation, error) {
	b := o.Reservations.New(Reservation{RoomID: roomID, GuestID: guestID, Begin: begin, End: end})
	return b, o.db.Transact(ctx, func(tx persistable.Tx) error {
		if err := o.checkFree(ctx, tx, b); err != nil {
			return err
		}
		return o.Reservations.In(tx).Create(ctx, b)
	})
}

// checkFree looks at the last booking of the room that begins before the end of b. As no two bookings of a
// room overlap, no earlier one ends later. The transaction conflicts with any that books the room
// between the two.
func (o *Office) checkFree(ctx context.Context, tx persistable.Tx, b *Reservation) error {
	last, err := o.Reservations.In(tx).ByRoomIDBeginWhereTaken(b.RoomID).Before(b.End).Reverse().First(ctx)
	switch {
	case errors.Is(err, persistable.ErrNotFound):
		return nil
	case err != nil:
		return err
	case last.End.After(b.Begin):
		return fmt.Errorf("%w from %s to %s", ErrTaken, last.Begin.Format(time.RFC3339), last.End.Format(time.RFC3339))
	}
	return nil
}

// Cancel frees the room. The booking stays, and so does its log.
func (o *Office) Cancel(ctx context.Context, id idgen.ID) error {
	return o.Reservations.Update(ctx, id, func(b *Reservation) error {
		b.State = Cancelled
		return nil
	})
}

// Line is a booking as lists show it.
type Line struct {
	*Reservation
	Room, Guest string
}

// List is a page of bookings in the order of time. Next and Previous are the tokens of the pages after and
// before it.
type List struct {
	Lines          []Line
	Next, Previous string
}

// List returns n bookings from a time on, or those of the page to which a token belongs, with the names of
// their rooms and guests: three rounds, however long the page is.
func (o *Office) List(ctx context.Context, from time.Time, n int, token string) (List, error) {
	page, err := o.Reservations.OrderedByBegin().From(from).Limit(n).Page(ctx, token)
	if err != nil {
		return List{}, err
	}
	rooms, err := o.Reservations.Rooms(ctx, page.Records)
	if err != nil {
		return List{}, err
	}
	guests, err := o.Reservations.Guests(ctx, page.Records)
	if err != nil {
		return List{}, err
	}
	list := List{Next: page.Next, Previous: page.Previous}
	for _, b := range page.Records {
		list.Lines = append(list.Lines, Line{b, rooms[b.RoomID].Name, guests[b.GuestID].Name})
	}
	return list, nil
}

// FindGuests returns guests with all words of a text, of the last one the beginning.
func (o *Office) FindGuests(ctx context.Context, text string, n int) ([]*Guest, error) {
	return o.Guests.SearchNameNotes(text, persistable.AllWords|persistable.Begun).Limit(n).Slice(ctx)
}

// RestoreGuest takes back the deletion of a guest. If another one has the address by now, it returns a
// *[persistable.UniqueError].
func (o *Office) RestoreGuest(ctx context.Context, id idgen.ID) error {
	return o.Guests.WithDeleted().Update(ctx, id, func(g *Guest) error {
		g.DeletedAt = time.Time{}
		return nil
	})
}
