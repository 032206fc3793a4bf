// The main job with the client that oapi-codegen makes from the API document.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	openapi_types "github.com/oapi-codegen/runtime/types"

	"job/rebid"
)

const (
	text     = "# Lounas\n\nLohikeitto\n"
	mimeType = "text/markdown"
)

var (
	baseURL = os.Args[1]
	run     = fmt.Sprint(time.Now().UnixNano())
	ctx     = context.Background()
)

// done returns what a call has answered, unless it failed.
func done[Answer any](answer Answer, err error) Answer {
	if err != nil {
		panic(err)
	}
	return answer
}

// ok returns the record of an answer, which is missing if the service refused.
func ok[Record any](record *Record, body []byte) Record {
	if record == nil {
		panic(string(body))
	}
	return *record
}

func check(actual, expected any) {
	if fmt.Sprint(actual) != fmt.Sprint(expected) {
		panic(fmt.Sprintf("%v is not %v", actual, expected))
	}
}

// account returns a client that sends a header with each request.
func account(name, value string) *rebid.ClientWithResponses {
	return done(rebid.NewClientWithResponses(baseURL, rebid.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set(name, value)
			return nil
		},
	)))
}

func signUp(name string) *rebid.ClientWithResponses {
	answer := done(account("Accept", "application/json").AuthSignupWithResponse(ctx, rebid.Signup{
		Email:       openapi_types.Email(name + "-" + run + "@rebid.example.com"),
		Password:    "a long password",
		DisplayName: name,
	}))
	ok(answer.JSON201, answer.Body)
	cookie, _, _ := strings.Cut(answer.HTTPResponse.Header.Get("Set-Cookie"), ";")
	return account("Cookie", cookie)
}

// submit sends a form of the embedded payment processor, as a person in a browser would.
func submit(address, outcome string) {
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer := done(client.PostForm(address, url.Values{"outcome": {outcome}}))
	check(answer.StatusCode < 400, true)
}

// put sends the file's bytes to the address that the start of an upload returned.
func put(address string) {
	request := done(http.NewRequest(http.MethodPut, address, bytes.NewBufferString(text)))
	request.Header.Set("Content-Type", mimeType)
	check(done(http.DefaultClient.Do(request)).StatusCode, 200)
}

// until asks until the answer is yes, for at most 30 seconds.
func until(what string, ask func() bool) {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if ask() {
			return
		}
	}
	panic("not within 30 seconds: " + what)
}

func main() {
	ada, bo := signUp("ada"), signUp("bo")

	topup := done(ada.WalletTopupWithResponse(ctx, nil, rebid.TopUpWallet{AmountCents: 5_000}))
	submit(ok(topup.JSON200, topup.Body).CheckoutUrl+"/pay", "pays")
	until("a top-up", func() bool {
		wallet := done(ada.WalletReadWithResponse(ctx))
		return ok(wallet.JSON200, wallet.Body).AvailableCents == 5_000
	})

	newTask := rebid.CreateTask{
		Title: "Translate a menu", Description: "Two dishes.", MaxBudgetCents: 4_000, Tags: []string{"menu " + run},
	}
	create := func() openapi_types.UUID {
		created := done(ada.TasksCreateWithResponse(ctx, &rebid.TasksCreateParams{IdempotencyKey: &run}, newTask))
		return ok(created.JSON201, created.Body).Task.Id
	}
	task := create()
	check(create(), task)
	tag := "menu " + run
	statuses := []rebid.TaskStatus{rebid.TaskStatusOpen, rebid.TaskStatusAwarded}
	list := done(ada.TasksListWithResponse(ctx, &rebid.TasksListParams{Tag: &tag, Status: &statuses}))
	found := ok(list.JSON200, list.Body).Tasks
	check(len(found), 1)
	check(found[0].Id, task)

	newKey := rebid.CreateApiKey{Label: "my agent", Scopes: []rebid.Scope{rebid.BidWrite}}
	key := done(bo.KeysCreateWithResponse(ctx, nil, newKey))
	agent := account("Authorization", "Bearer "+ok(key.JSON201, key.Body).Raw)
	placed := done(agent.BidsPlaceWithResponse(ctx, task, nil, rebid.PlaceBid{PriceCents: 3_000, EtaHours: 24}))
	bid := ok(placed.JSON201, placed.Body).Bid.Id
	price := int32(2_000)
	award := rebid.AwardTask{BidId: bid, ExpectedPriceCents: &price}
	refused := ok(done(ada.TasksAwardWithResponse(ctx, task, nil, award)).JSON409, nil)
	check(refused.Error, "bid_changed")
	check(*refused.PriceCents, 3_000)
	price = 3_000
	awarded := done(ada.TasksAwardWithResponse(ctx, task, nil, award))
	check(ok(awarded.JSON200, awarded.Body).Task.Status, "awarded")

	declared := rebid.InitDelivery{MimeType: mimeType, Bytes: int64(len(text))}
	upload := done(agent.BidsDeliveryInitWithResponse(ctx, bid, nil, declared))
	target := ok(upload.JSON200, upload.Body)
	put(target.UploadUrl)
	sent := rebid.FinalizeDelivery{StorageKey: target.StorageKey}
	delivered := done(agent.BidsDeliveryFinalizeWithResponse(ctx, bid, nil, sent))
	ok(delivered.JSON201, delivered.Body)

	detail := done(ada.TasksReadWithResponse(ctx, task))
	deliveries := *ok(detail.JSON200, detail.Body).Deliveries
	download := done(http.Get(deliveries[0].DownloadUrl))
	check(string(done(io.ReadAll(download.Body))), text)
	accepted := done(ada.TasksAcceptWithResponse(ctx, task, nil))
	check(ok(accepted.JSON200, accepted.Body).Task.Status, "accepted")
	comment := "Fast and exact."
	rated := done(ada.TasksRateWithResponse(ctx, task, nil, rebid.RateTask{Stars: 5, Comment: &comment}))
	ok(rated.JSON201, rated.Body)
	ledger := done(bo.WalletLedgerWithResponse(ctx, nil))
	entries := ok(ledger.JSON200, ledger.Body).Entries
	check(len(entries), 1)
	check(entries[0].Kind, "task_earning")
	check(entries[0].AmountCents, 3_000)
}
