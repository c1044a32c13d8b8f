"""The names that each API knows: its parameters, and the kinds of blocks and data."""

from typing import Final


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ANTHROPIC_PARAMETERS: Final = names(
    """
    cache_control container context_management diagnostics fallbacks inference_geo max_tokens
    mcp_servers messages metadata model output_config output_format service_tier speed
    stop_sequences stream system temperature thinking tool_choice tools top_k top_p
    """
)
ANTHROPIC_BLOCKS: Final = names(
    """
    bash_code_execution_tool_result code_execution_tool_result container_upload document image
    mcp_tool_result mcp_tool_use redacted_thinking search_result server_tool_use text
    text_editor_code_execution_tool_result thinking tool_reference tool_result
    tool_search_tool_result tool_use web_fetch_tool_result web_search_tool_result
    """
)
RESPONSES_PARAMETERS: Final = names(
    """
    access_programs background context_management conversation image include input instructions
    max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls
    previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention
    reasoning safety_identifier service_tier store stream stream_options temperature text
    tool_choice tools top_logprobs top_p truncation user
    """
)
CHAT_PARAMETERS: Final = names(
    """
    audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens
    max_tokens messages metadata modalities model moderation n parallel_tool_calls prediction
    presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention
    reasoning_effort response_format safety_identifier seed service_tier stop store stream
    stream_options temperature tool_choice tools top_logprobs top_p user verbosity
    web_search_options
    """
)
GEMINI_PARAMETERS: Final = names(
    """
    contents tools toolConfig safetySettings systemInstruction generationConfig cachedContent
    labels serviceTier store continuationToken
    """
)
GEMINI_CONFIG: Final = names(
    """
    audioTimestamp candidateCount enableAffectiveDialog enableEnhancedCivicAnswers
    frequencyPenalty imageConfig logprobs maxOutputTokens mediaResolution presencePenalty
    responseFormat responseJsonSchema responseLogprobs responseMimeType responseModalities
    responseSchema routingConfig seed speechConfig stopSequences temperature thinkingConfig topK
    topP
    """
)
GEMINI_DATA: Final = names(
    """
    text inlineData fileData functionCall functionResponse executableCode codeExecutionResult
    toolCall toolResponse
    """
)
