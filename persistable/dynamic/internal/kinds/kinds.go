// SPDX-License-Identifier: Apache-2.0

// Package kinds has a generated type with a field of every kind, for tests that compare
// its code with package dynamic.
package kinds

import (
	"net/netip"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

//go:generate go tool persistgen

// Every has every kind of field.
type Every struct {
	_ persistable.Directory `persist:"groups/{Group}/{Number}/every,layer=partition"`
	_ persistable.Index     `persist:"Int8,Text desc,Time"`
	_ persistable.Index     `persist:"Texts,cover"`
	_ persistable.Index     `persist:"Maybe.Text,Double desc"`
	_ persistable.Index     `persist:"UUID,Bytes,Array,cover=Float+Numbers+Names+PtrInt"`
	_ persistable.Index     `persist:"PtrTime desc,PtrID,scatter=16"`
	_ persistable.Unique    `persist:"PtrText,Uint64"`
	_ persistable.Index     `persist:"Duration,where=Bool and Int64!=0,name=some"`
	_ persistable.Index     `persist:"Mail desc,Inner.Number"`
	_ persistable.Unique    `persist:"PtrMail,Uint32"`
	_ persistable.Index     `persist:"Mails"`
	_ persistable.Count     `persist:"by=Mail"`
	_ persistable.Count     `persist:"by=Numbers"`
	_ persistable.Sum       `persist:"Uint64,by=Inner.Number"`
	_ persistable.Rank      `persist:"Int64,by=Bool"`
	_ persistable.Search    `persist:"Text,PtrText,Texts"`
	_ persistable.Version

	ID     idgen.ID
	Group  string
	Number int32

	Bool     bool
	Int8     int8
	Int16    int16
	Int32    int32
	Int64    int64
	Uint8    uint8
	Uint16   uint16
	Uint32   uint32
	Uint64   uint64
	Ref      idgen.ID
	Float    float32
	Double   float64
	Text     string
	Bytes    []byte
	Array    [3]byte
	UUID     [16]byte
	Time     time.Time
	Duration time.Duration
	Address  netip.Addr `persist:"text"`
	Packed   netip.Addr
	Preset   int64  `persist:"default=7"`
	Plan     string `persist:"default='free plan'"`
	Grade    Grade  `persist:"enum"`

	Mail    string   `persist:"fold"`
	PtrMail *string  `persist:"fold"`
	Mails   []string `persist:"fold"`

	PtrBool  *bool
	PtrInt   *int64
	PtrID    *idgen.ID
	PtrFloat *float64
	PtrText  *string
	PtrBytes *[]byte
	PtrArray *[3]byte
	PtrTime  *time.Time
	PtrTook  *time.Duration
	PtrAddr  *netip.Addr `persist:"text"`
	PtrGrade *Grade      `persist:"enum,index"`

	Bools   []bool
	Numbers []int64
	Counts  []uint16
	IDs     []idgen.ID
	Floats  []float32
	Texts   []string
	Blobs   [][]byte
	Keys    [][16]byte
	Times   []time.Time
	Tooks   []time.Duration
	Grades  []Grade `persist:"enum"`

	Names    map[string]string
	ByInt    map[int32]time.Time
	ByUint   map[uint64][]byte
	ByBool   map[bool]float64
	ByID     map[idgen.ID]Inner
	Numbers2 map[string]int64 `persist:"number=70"`

	Inner Inner
	Maybe *Inner
	List  []Inner
}

// Gauge has fields with every bound.
type Gauge struct {
	_ persistable.Directory `persist:"bounded"`

	ID     int64
	Int    int8             `persist:"min=-2,max=3"`
	Uint   uint16           `persist:"max=9"`
	Float  float32          `persist:"min=0.1,max=0.7"`
	Double *float64         `persist:"min=-1.5"`
	Took   time.Duration    `persist:"max=time.Minute"`
	Text   string           `persist:"maxlen=4,match='^[a-zäöü,]*$'"`
	Bytes  []byte           `persist:"maxlen=2"`
	Texts  []string         `persist:"maxlen=2,match=short"`
	ByName map[string]Grade `persist:"maxlen=2,min=-2"`
	Part   Part
	Parts  []Part
	Maybe  *Part
	ByInt  map[int64]Part
}

// Letter has the times that the library sets.
type Letter struct {
	_ persistable.Directory `persist:"stamped"`

	ID        int64
	CreatedAt time.Time `persist:"created,index"`
	UpdatedAt time.Time `persist:"updated,index"`
	Text      string
}

const short = "^.{0,2}$"

// Part is nested, also in itself.
type Part struct {
	Number int64 `persist:"min=-1"`
	Next   *Part
}

// Grade is a value with a name.
type Grade int8

// The grades.
const (
	Good Grade = 1
	Poor Grade = -2
)

// Inner is nested, also in itself.
type Inner struct {
	Text   string
	Number int64
	Next   *Inner
	More   []Inner
	Zip    *string
}
