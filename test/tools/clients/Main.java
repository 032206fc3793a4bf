import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Callable;
import rebid.ApiClient;
import rebid.ApiException;
import rebid.api.AuthApi;
import rebid.api.BidsApi;
import rebid.api.KeysApi;
import rebid.api.TasksApi;
import rebid.api.WalletApi;
import rebid.model.*;

/** The main job with the Java client that OpenAPI Generator makes from the API document. */
public class Main {
  private static final String RUN = Long.toString(System.nanoTime());
  private static final String TEXT = "# Lounas\n\nLohikeitto\n";
  private static final String MIME_TYPE = "text/markdown";
  private static final HttpClient http = HttpClient.newHttpClient();
  private static String baseUrl;

  /** The operations that the job needs, for one caller. */
  private static class Account {
    final AuthApi auth;
    final BidsApi bids;
    final KeysApi keys;
    final TasksApi tasks;
    final WalletApi wallet;

    Account(String header, String value) {
      ApiClient client = new ApiClient();
      client.updateBaseUri(baseUrl);
      client.setRequestInterceptor(request -> request.header(header, value));
      auth = new AuthApi(client);
      bids = new BidsApi(client);
      keys = new KeysApi(client);
      tasks = new TasksApi(client);
      wallet = new WalletApi(client);
    }
  }

  public static void main(String[] parameters) throws Exception {
    baseUrl = parameters[0];
    Account ada = signUp("ada");
    Account bo = signUp("bo");

    var topup = ada.wallet.walletTopup(new TopUpWallet().amountCents(5_000), null);
    submit(topup.getCheckoutUrl() + "/pay", "pays");
    until("a top-up", () -> ada.wallet.walletRead().getAvailableCents() == 5_000);

    var newTask =
        new CreateTask()
            .title("Translate a menu")
            .description("Two dishes.")
            .maxBudgetCents(4_000)
            .tags(List.of("menu " + RUN));
    var task = ada.tasks.tasksCreate(newTask, RUN, null).getTask();
    check(ada.tasks.tasksCreate(newTask, RUN, null).getTask().getId(), task.getId());
    var found = ada.tasks.tasksList(null, null, List.of(TaskStatus.OPEN), "menu " + RUN, null, null, null);
    check(found.getTasks().stream().map(TaskListItem::getId).toList(), List.of(task.getId()));

    var key = bo.keys.keysCreate(new CreateApiKey().label("my agent").addScopesItem(Scope.BID_WRITE), null, null);
    Account agent = new Account("Authorization", "Bearer " + key.getRaw());
    var bid = agent.bids.bidsPlace(task.getId(), new PlaceBid().priceCents(3_000).etaHours(24.0), null, null).getBid();
    var award = new AwardTask().bidId(bid.getId()).expectedPriceCents(2_000);
    try {
      ada.tasks.tasksAward(task.getId(), award, null, null);
      throw new AssertionError("the price was another one");
    } catch (ApiException error) {
      check(error.getCode(), 409);
      check(error.getResponseBody().contains("\"bid_changed\""), true);
    }
    var awarded = ada.tasks.tasksAward(task.getId(), award.expectedPriceCents(3_000), null, null);
    check(awarded.getTask().getStatus().toString(), "awarded");

    long bytes = TEXT.getBytes(StandardCharsets.UTF_8).length;
    var delivery =
        agent.bids.bidsDeliveryInit(bid.getId(), new InitDelivery().mimeType(MIME_TYPE).bytes(bytes), null);
    put(delivery.getUploadUrl());
    agent.bids.bidsDeliveryFinalize(
        bid.getId(), new FinalizeDelivery().storageKey(delivery.getStorageKey()), null);

    var detail = ada.tasks.tasksRead(task.getId());
    check(get(detail.getDeliveries().get(0).getDownloadUrl()), TEXT);
    check(ada.tasks.tasksAccept(task.getId(), null, null).getTask().getStatus().toString(), "accepted");
    ada.tasks.tasksRate(task.getId(), new RateTask().stars(5).comment("Fast and exact."), null, null);
    var entries = bo.wallet.walletLedger(null, null, null, null).getEntries();
    check(entries.stream().map(entry -> entry.getKind() + " " + entry.getAmountCents()).toList(), List.of("task_earning 3000"));
  }

  private static Account signUp(String name) throws Exception {
    Signup body = new Signup().email(name + "-" + RUN + "@rebid.example.com").password("a long password").displayName(name);
    var answer = new Account("Accept", "application/json").auth.authSignupWithHttpInfo(body);
    check(answer.getStatusCode(), 201);
    return new Account("Cookie", answer.getHeaders().get("set-cookie").get(0).split(";")[0]);
  }

  /** Submits a form of the embedded payment processor, as a person in a browser would. */
  private static void submit(String url, String outcome) throws Exception {
    var form = HttpRequest.BodyPublishers.ofString("outcome=" + URLEncoder.encode(outcome, StandardCharsets.UTF_8));
    var request = HttpRequest.newBuilder(URI.create(url)).header("Content-Type", "application/x-www-form-urlencoded");
    check(http.send(request.POST(form).build(), HttpResponse.BodyHandlers.discarding()).statusCode() < 400, true);
  }

  /** Sends the file's bytes to the address that the start of an upload returned. */
  private static void put(Object url) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(url.toString())).header("Content-Type", MIME_TYPE);
    var body = HttpRequest.BodyPublishers.ofString(TEXT);
    check(http.send(request.PUT(body).build(), HttpResponse.BodyHandlers.discarding()).statusCode(), 200);
  }

  private static String get(Object url) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(url.toString())).build();
    return http.send(request, HttpResponse.BodyHandlers.ofString()).body();
  }

  /** Asks until the answer is yes, for at most 30 seconds. */
  private static void until(String what, Callable<Boolean> ask) throws Exception {
    for (int time = 0; time < 300; time++) {
      if (ask.call()) return;
      Thread.sleep(100);
    }
    throw new AssertionError("not within 30 seconds: " + what);
  }

  private static void check(Object actual, Object expected) {
    if (!actual.equals(expected)) throw new AssertionError(actual + " is not " + expected);
  }
}
