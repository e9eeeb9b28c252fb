// SPDX-License-Identifier: Apache-2.0

// Package gormpeer is the store of users over gorm and SQLite.
package gormpeer

import (
	"context"
	"database/sql"
	"time"

	driver "gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/kazahana-db/kazahana/bench/records"
	"github.com/kazahana-db/kazahana/bench/records/sqlite"
)

// user is the model.
type user struct {
	ID        uint64 `gorm:"primaryKey"`
	Email     string `gorm:"uniqueIndex"`
	Name      string
	Category  string    `gorm:"index:by_category,priority:1"`
	CreatedAt time.Time `gorm:"index:by_category,priority:2"`
}

func (u *user) toUser() records.User {
	return records.User{Email: u.Email, Name: u.Name, Category: u.Category, CreatedAt: u.CreatedAt}
}

func model(u records.User) *user {
	return &user{Email: u.Email, Name: u.Name, Category: u.Category, CreatedAt: u.CreatedAt}
}

type store struct {
	pools       *sqlite.Pools
	write, read *gorm.DB
	plain       bool
}

// Open opens the store in a file.
func Open(file string, form sqlite.Form) (records.Library, error) {
	pools, err := sqlite.Open(file, form)
	if err != nil {
		return nil, err
	}
	plain := form == sqlite.Plain
	s := &store{pools: pools, plain: plain}
	if s.write, err = handle(pools.Write, plain); err != nil {
		return nil, err
	}
	if s.read, err = handle(pools.Read, plain); err != nil {
		return nil, err
	}
	return s, s.write.AutoMigrate(&user{}, &player{})
}

// handle returns gorm: with its defaults, or with prepared statements and without the
// transaction around single statements, which have one of their own.
func handle(db *sql.DB, plain bool) (*gorm.DB, error) {
	return gorm.Open(driver.New(driver.Config{DriverName: "sqlite", Conn: db}), &gorm.Config{
		SkipDefaultTransaction: !plain, PrepareStmt: !plain, Logger: logger.Discard,
	})
}

// Load implements [records.Store].
func (s *store) Load(ctx context.Context, users []records.User) ([]uint64, error) {
	models := make([]*user, 0, len(users))
	for _, u := range users {
		models = append(models, model(u))
	}
	if err := s.write.WithContext(ctx).CreateInBatches(models, 1000).Error; err != nil {
		return nil, err
	}
	ids := make([]uint64, 0, len(models))
	for _, m := range models {
		ids = append(ids, m.ID)
	}
	return ids, nil
}

// Save implements [records.Store].
func (s *store) Save(ctx context.Context, u records.User) error {
	return s.write.WithContext(ctx).Create(model(u)).Error
}

// Get implements [records.Store].
func (s *store) Get(ctx context.Context, id uint64) (records.User, error) {
	var u user
	err := s.read.WithContext(ctx).Take(&u, id).Error
	return u.toUser(), err
}

// ByEmail implements [records.Store].
func (s *store) ByEmail(ctx context.Context, email string) (records.User, error) {
	var u user
	err := s.read.WithContext(ctx).Where("email = ?", email).Take(&u).Error
	return u.toUser(), err
}

// ByCategory implements [records.Store].
func (s *store) ByCategory(ctx context.Context, category string, limit int) ([]records.User, error) {
	var found []user
	err := s.read.WithContext(ctx).Where("category = ?", category).Order("created_at").Limit(limit).Find(&found).Error
	users := make([]records.User, 0, len(found))
	for i := range found {
		users = append(users, found[i].toUser())
	}
	return users, err
}

// Count implements [records.Store].
func (s *store) Count(ctx context.Context) (int, error) {
	var n int64
	err := s.read.WithContext(ctx).Model(&user{}).Count(&n).Error
	return int(n), err
}

// Close implements [records.Store].
func (s *store) Close() error { return s.pools.Close() }
